import { expect, test } from "vitest";

import { COMMAND_FILES } from "../../../gateway/cli.js";

test.each(COMMAND_FILES.map(({ words, load }) => [words.join(", "), words, load] as const))(
  "commands that begin with %s are found in their file, and no other command is in it",
  async (_, words, load) => {
    expect(new Set((await load()).map(({ name }) => name.split(" ")[0]))).toEqual(new Set(words));
  },
);
