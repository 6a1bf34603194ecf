/** Hostile input may be refused only with the errors that a caller expects; any other error fails the test. */
import assert from "node:assert/strict";

/** Runs `body`; @returns the code of the SaltworksError that it threw, or undefined. Any other error, or another code, fails. */
export function codeThrown(body: () => unknown, prefixes: readonly string[]): string | undefined {
  try {
    body();
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    const isTyped = error instanceof Error && error.name === "SaltworksError";
    assert.ok(isTyped && prefixes.some((prefix) => code.startsWith(prefix)), `not a typed error: ${String(error)}`);
    return code;
  }
}
