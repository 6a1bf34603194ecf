import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SaltworksError } from "../../src/errors.ts";
import { faultText } from "../../src/pillar/fault-text.ts";
import { answersOf, corpusOf } from "./corpus.ts";
import { refusedHere } from "./refused.ts";
import { renderOne } from "./rendering.ts";

type Case = { readonly name: string; readonly template: string; readonly files?: Readonly<Record<string, string>> };
type Answer = { readonly text?: string; readonly error?: string };

/** The SLS renderer handles the files' own white-space header. */
const byRenderer = /jinja header/;

describe("templates render as in Salt", () => {
  const answers = answersOf<Answer>("templates");
  for (const { name, template, files = {} } of corpusOf<readonly Case[]>("templates")) {
    if (byRenderer.test(name)) continue;
    it(name, () => {
      const below = Object.fromEntries(Object.entries(files).map(([path, text]) => [path.replace("base/", ""), text]));
      let text: string | undefined;
      let error: string | undefined;
      try {
        text = renderOne(template, below);
      } catch (raised) {
        if (!(raised instanceof SaltworksError)) throw raised;
        error = faultText(raised).split("; line ")[0];
      }
      if (refusedHere.templates.includes(name)) {
        assert.match(error ?? `rendered ${text}`, /not supported/);
        return;
      }
      if (refusedHere.otherWords.includes(name)) assert.notEqual(error ?? text, undefined);
      else assert.deepEqual({ text, error }, { text: answers[name]?.text, error: answers[name]?.error });
    });
  }
});
