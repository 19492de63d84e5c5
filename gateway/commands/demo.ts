/** `kurier demo`: the main job on a real invoice, step by step with times. */
import { join } from "node:path";

import { systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import type { Config } from "../../engine/base/config.js";
import { canonicalDocumentTypeId } from "../../engine/peppol/envelope/identifiers.js";
import { readSandbox } from "../../engine/identity/sandbox.js";
import type { Sandbox } from "../../engine/identity/sandbox.js";
import { colour, print } from "./terminal.js";
import { EXIT, parseArguments } from "./command.js";
import type { Command } from "./command.js";
import { call, DemoFailure, expectStatus, poll, token } from "./demo/calls.js";
import type { DemoAnswer } from "./demo/calls.js";
import { runConnectorSteps } from "./demo/connector.js";
import { subscribeToEvents } from "./demo/events.js";
import { runIntegratorSteps } from "./demo/integrator.js";

const textOf = (xml: string, element: string): string => new RegExp(`<cbc:${element}>([^<]*)<`).exec(xml)?.[1] ?? "";

/** The send body for an invoice between the demo firms. */
function demoSendBody(sandbox: Sandbox, invoice: string): string {
  const customization = textOf(invoice, "CustomizationID");
  return JSON.stringify({
    metadata: {
      documentId: textOf(invoice, "ID"),
      documentTypeId: canonicalDocumentTypeId(
        `urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##${customization}::2.1`,
      ),
      processId: textOf(invoice, "ProfileID"),
      senderParticipantId: sandbox.sender.participantId,
      receiverParticipantId: sandbox.receiver.participantId,
      creationDateTime: new Date(systemClock.now()).toISOString(),
    },
    payload: invoice,
    payloadFormat: "XML",
  });
}

const asParticipant = (bearer: string, participant: string): Record<string, string> => ({
  authorization: `Bearer ${bearer}`,
  "x-peppol-participant-id": participant,
  "content-type": "application/json",
});

/** A fresh invoice between the demo firms. */
const freshInvoice = async (sandbox: Sandbox): Promise<string> =>
  expectStatus(
    await call("GET", `${sandbox.adminUrl}/admin/sandbox/invoice?lines=5`, {
      authorization: `Bearer ${sandbox.admin.token}`,
    }),
    200,
    "invoice",
  ).text;

/** Sends an invoice in the sender's name. */
const send = async (sandbox: Sandbox, bearer: string, invoice: string): Promise<DemoAnswer> =>
  expectStatus(
    await call(
      "POST",
      `${sandbox.sapiBaseUrl}/document/send`,
      { ...asParticipant(bearer, sandbox.sender.participantId), "idempotency-key": crypto.randomUUID() },
      demoSendBody(sandbox, invoice),
    ),
    202,
    "send",
  );

/** Waits for the end of a document's way. @throws DemoFailure when it is not delivered */
async function delivered(sandbox: Sandbox, bearer: string, id: string): Promise<DemoAnswer> {
  const status = await poll(async () => {
    const answer = expectStatus(
      await call("GET", `${sandbox.baseUrl}/documents/${id}/status`, { authorization: `Bearer ${bearer}` }),
      200,
      "status",
    );
    return answer.json["status"] === "queued" || answer.json["status"] === "sent" ? undefined : answer;
  }, "delivery");
  if (status.json["status"] !== "delivered")
    throw new DemoFailure(`delivery ended as ${String(status.json["status"])}`);
  return status;
}

/** Runs the steps of the two firms. @throws DemoFailure at the first that does not do what it promises */
async function runSteps(sandbox: Sandbox, say: (step: string, detail: string) => void): Promise<void> {
  const senderToken = await token(sandbox, sandbox.sender);
  const receiverToken = await token(sandbox, sandbox.receiver);
  say("token", `access tokens for ${sandbox.sender.participantId} and ${sandbox.receiver.participantId}`);
  const receiver = asParticipant(receiverToken, sandbox.receiver.participantId);

  const invoice = await freshInvoice(sandbox);
  say(
    "invoice",
    `number ${textOf(invoice, "ID")}, ${invoice.length} bytes of UBL, payable ${/PayableAmount[^>]*>([^<]*)</.exec(invoice)?.[1] ?? "?"} EUR`,
  );

  const told = await subscribeToEvents(sandbox, senderToken);
  const sent = await send(sandbox, senderToken, invoice);
  const id = String(sent.json["providerDocumentId"]);
  say("sent", `202 ${String(sent.json["status"])}: validated and committed as ${id}`);

  const status = await delivered(sandbox, senderToken, id);
  say("delivered", `receipt for AS4 message ${String(status.json["as4MessageId"])}`);
  const events = expectStatus(
    await call("GET", `${sandbox.baseUrl}/documents/${id}/events`, { authorization: `Bearer ${senderToken}` }),
    200,
    "events",
  ).json["events"] as { readonly eventType: string; readonly occurredAt: string }[];
  for (const event of events) print(colour("dim", `             ${event.occurredAt}  ${event.eventType}`));

  say("told", await told(id));

  const acceptedAt = String(sent.json["receivedAt"]);
  const received = await poll(() => findReceived(sandbox, receiver, invoice, acceptedAt), "receipt by the recipient");
  say("received", `document ${received}, byte for byte the invoice that was sent`);
  const acknowledged = expectStatus(
    await call("POST", `${sandbox.sapiBaseUrl}/document/receive/${received}/acknowledge`, receiver),
    200,
    "acknowledge",
  );
  say("acknowledged", `at ${String(acknowledged.json["acknowledgedDateTime"])}`);
}

/**
 * Looks through the inbox for the invoice among what was created since it was accepted; its id when the payload is the
 * same.
 */
async function findReceived(
  sandbox: Sandbox,
  headers: Record<string, string>,
  invoice: string,
  since: string,
): Promise<string | undefined> {
  let pageToken: string | undefined;
  do {
    const query = pageToken === undefined ? "limit=100" : `limit=100&pageToken=${pageToken}`;
    const page = expectStatus(
      await call("GET", `${sandbox.sapiBaseUrl}/document/receive?${query}`, headers),
      200,
      "receive",
    ).json as {
      readonly documents: { readonly documentId: string; readonly creationDateTime: string }[];
      readonly nextPageToken: string | null;
    };
    for (const { documentId } of page.documents.filter(({ creationDateTime }) => creationDateTime >= since)) {
      const detail = expectStatus(
        await call("GET", `${sandbox.sapiBaseUrl}/document/receive/${documentId}`, headers),
        200,
        "detail",
      );
      if (detail.json["payload"] === invoice) return documentId;
    }
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
  return undefined;
}

const isRunning = async (sandbox: Sandbox): Promise<boolean> => {
  try {
    return (await call("GET", `${sandbox.adminUrl}/readyz`, {})).status === 200;
  } catch {
    return false;
  }
};

/** What is told, by whom it is told to. */
type Story = (
  sandbox: Sandbox,
  config: Pick<Config, "DATA_DIR" | "SMTP_URL">,
  say: (step: string, detail: string) => void,
) => Promise<void>;

const connectorStory: Story = async (sandbox, _, say) => {
  await runConnectorSteps(sandbox, say);
  print(
    colour("bold", "The invoice was staged, sent, delivered, acknowledged and answered; another one was cancelled."),
  );
};

const firmsStory: Story = async (sandbox, config, say) => {
  await runSteps(sandbox, say);
  print(colour("bold", "The invoice was sent, delivered, received and acknowledged."));
  await runIntegratorSteps({
    sandbox,
    mail: config.SMTP_URL === undefined ? join(config.DATA_DIR, "mail") : undefined,
    say,
    send: async (bearer) =>
      String((await send(sandbox, bearer, await freshInvoice(sandbox))).json["providerDocumentId"]),
    delivered: async (id, bearer) => {
      await delivered(sandbox, bearer, id);
    },
  });
  print(colour("bold", "The integrator was given consent, and sent for the firm with a key of its own."));
};

/** Tells a story on a sandbox that is running. @returns whether every step did what it promises */
async function demonstrate(story: Story, sandbox: Sandbox, config: Parameters<Story>[1]): Promise<boolean> {
  const start = systemClock.monotonic();
  const say = (step: string, detail: string): void => {
    print(
      `${colour("dim", `${String(Math.round(systemClock.monotonic() - start)).padStart(6)} ms`)}  ${colour("green", step.padEnd(13))} ${detail}`,
    );
  };
  try {
    await story(sandbox, config, say);
    return true;
  } catch (error) {
    if (!(error instanceof DemoFailure) && !(error instanceof TypeError) && !(error instanceof DOMException))
      throw error;
    print(colour("red", `failed: ${error.message}`));
    return false;
  }
}

export const demoCommand: Command = {
  name: "demo",
  summary: "Send a complete invoice from one demo firm to the other and show what happens.",
  usage: [
    "kurier demo [--connector]",
    "--connector tells the story in the words of the Connector: one integrator, two of its customers.",
    "Uses the engine that runs on DATA_DIR; starts one for the time of the demo when none does.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { flags: ["connector"] });
    const story = options.has("connector") ? connectorStory : firmsStory;
    const config = loadConfig();
    const found = readSandbox(config.DATA_DIR);
    if (found !== undefined && (await isRunning(found)))
      return (await demonstrate(story, found, config)) ? EXIT.ok : EXIT.failed;
    print("No engine runs on this DATA_DIR; starting one for the demo.");
    const { startEngine } = await import("../main.js");
    const engine = await startEngine({ ...config, LOG_LEVEL: "warn" });
    try {
      if (engine.sandbox === undefined) {
        print("The demo needs ENVIRONMENT=sandbox.");
        return EXIT.usage;
      }
      const withoutThreads = await engine.threadsWork;
      if (withoutThreads !== undefined) throw withoutThreads;
      const lost = engine.dataDirLost.then((error) => {
        throw error;
      });
      const hasShown = await Promise.race([demonstrate(story, engine.sandbox, config), lost]);
      return hasShown ? EXIT.ok : EXIT.failed;
    } finally {
      await engine.stop();
    }
  },
};
