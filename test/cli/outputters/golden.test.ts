/** Every outputter compared with Salt's, over the values and options of test/golden/outputs.json. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { renderOutput } from "../../../src/cli/outputters/render.ts";
import { tableSettings } from "../../../src/cli/outputters/settings.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { repositoryRoot } from "../../root.ts";

type Options = {
  color?: boolean;
  _retcode?: number;
  output_indent?: number | null | "pretty";
  state_output?: string;
  state_verbose?: boolean;
  state_output_diff?: boolean;
  state_output_profile?: boolean;
  state_output_pct?: boolean;
  state_tabular?: boolean;
  state_output_exclude?: string[];
  state_output_terse?: string[];
  [table: `out.table.${string}`]: string | number | boolean;
};
type Case = { data: string; asked: { outputter: string; options: Options; shown: string }[] };

const golden: { cases: Case[] } = JSON.parse(readFileSync(join(repositoryRoot, "test/golden/outputs.json"), "utf8"));

function statesOf(o: Options) {
  return {
    ...(o.state_output === undefined ? {} : { output: o.state_output }),
    isVerbose: o.state_verbose ?? true,
    isDiffOnly: o.state_output_diff ?? false,
    isProfiled: o.state_output_profile ?? true,
    isPercentShown: o.state_output_pct ?? false,
    isTabular: o.state_tabular ?? false,
    excluded: o.state_output_exclude ?? [],
    terse: o.state_output_terse ?? [],
  };
}

const outputters = new Set(golden.cases.flatMap((one) => one.asked.map((asked) => asked.outputter)));

describe("renderOutput beside Salt", () => {
  for (const outputter of outputters) {
    it(`shows what Salt shows with --out=${outputter}`, () => {
      let count = 0;
      for (const one of golden.cases) {
        const value = decode(Buffer.from(one.data, "base64"));
        for (const { options, shown } of one.asked.filter((asked) => asked.outputter === outputter)) {
          const indent = options.output_indent;
          const text = renderOutput(outputter, value, {
            colour: options.color ?? false,
            retcode: options._retcode ?? 0,
            ...(indent === undefined ? {} : { indent }),
            states: statesOf(options),
            table: tableSettings(new Map(Object.entries(options))),
          });
          assert.equal(text, shown, JSON.stringify(options));
          count += 1;
        }
      }
      assert.ok(count > 0);
    });
  }
  it("has an answer of Salt for every outputter, except empty ones and aliases", () => {
    assert.deepEqual([...outputters].sort(), [
      "highstate",
      "json",
      "key",
      "nested",
      "newline_values_only",
      "no_return",
      "overstatestage",
      "pprint",
      "profile",
      "raw",
      "table",
      "txt",
      "virt_query",
      "yaml",
    ]);
  });
});
