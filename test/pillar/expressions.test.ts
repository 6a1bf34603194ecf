import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hasCode, SaltworksError } from "../../src/errors.ts";
import { faultText } from "../../src/pillar/fault-text.ts";
import { answersOf } from "./corpus.ts";
import { refusedHere } from "./refused.ts";
import { renderOne } from "./rendering.ts";

type Answer = { readonly text?: string; readonly error?: string };

/** The output, or the error in Salt's words. */
function ours(template: string): { text?: string; error?: string } {
  try {
    return { text: renderOne(template) };
  } catch (error) {
    if (!(error instanceof SaltworksError) || !hasCode(error, "PILLAR_FAILED")) throw error;
    return { error: faultText(error).split("; line ")[0] ?? "" };
  }
}

describe("expressions render as in Salt", () => {
  for (const [expression, answer] of Object.entries(answersOf<Answer>("expressions"))) {
    it(expression, () => {
      const { text, error } = ours(`{{ ${expression} }}`);
      if (refusedHere.expressions.includes(expression)) {
        assert.match(error ?? `rendered ${text}`, /supported|has no text/);
        return;
      }
      assert.equal(text, answer.text, error);
      if (answer.error !== undefined && !refusedHere.otherWords.includes(expression)) assert.equal(error, answer.error);
    });
  }
});
