import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SaltworksError } from "../../../src/errors.ts";
import { loadYaml } from "../../../src/pillar/input/yaml.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { answersOf } from "../corpus.ts";
import { refusedHere } from "../refused.ts";

type Answer = { readonly value?: string; readonly error?: string };

describe("YAML reads as in Salt", () => {
  for (const [text, { value }] of Object.entries(answersOf<Answer>("documents"))) {
    it(JSON.stringify(text), () => {
      let ours: string | undefined;
      let fault = "";
      try {
        ours = encode(loadYaml(text), "bin").toString("base64");
      } catch (error) {
        if (!(error instanceof SaltworksError)) throw error;
        fault = error.message;
      }
      if (refusedHere.documents.includes(text)) assert.equal(ours, undefined);
      else assert.equal(ours, value, fault);
    });
  }
});
