import tseslint from "typescript-eslint";

export default tseslint.config(
  {
    ignores: [
      "dist/**",
      "node_modules/**",
      "data/**",
      "**/*.mjs",
      "validators/**/*.generated.ts",
      "test/clients/generated/**",
    ],
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.base],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "separate-type-imports" }],
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      "@typescript-eslint/only-throw-error": "error",
      "no-empty": "error",
      "@typescript-eslint/prefer-readonly": "error",
      "no-restricted-syntax": [
        "error",
        {
          selector: "ImportDeclaration[importKind='value'] > ImportSpecifier[importKind='type']",
          message: "Types are imported by a statement of their own: import type { … }.",
        },
        {
          selector:
            ":matches(PropertyDefinition, MethodDefinition[kind!='constructor'])[accessibility=/private|public/]",
          message: "What is private begins with #; everything else is public without a word.",
        },
      ],
    },
  },
);
