/** The recorded command lines on arguments, from argv to the output. The test itself plays Salt's `test.arg_clean`. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { parseFunctions } from "../../../src/cli/args/functions.ts";
import { keywordMark } from "../../../src/cli/args/words.ts";
import { parseCommandLine } from "../../../src/cli/options/parse.ts";
import { isOutputter, renderOutput } from "../../../src/cli/outputters/render.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { goldenPath } from "../../golden/path.ts";

type Transcript = { name: string; argv: string[]; stdout: string; stderr: string; rc: number };

function transcripts(topic: string): Transcript[] {
  return JSON.parse(readFileSync(goldenPath(`${topic}.json`), "utf8")).transcripts;
}

/** The function's result for arguments that came over the wire. */
function playMinion(fun: string, arg: Value[]): Value | undefined {
  const received = decode(encode(arg, "raw")) as Value[];
  const last = received.at(-1);
  const kwargs = last instanceof Map && last.delete(keywordMark) ? last : undefined;
  const args = kwargs ? received.slice(0, -1) : received;
  if (fun === "test.arg_clean" || (fun === "test.arg" && received.length > 0)) {
    return new Map<Value, Value>([
      ["args", args],
      ["kwargs", kwargs ?? new Map()],
    ]);
  }
  return fun === "test.echo" ? args[0] : undefined;
}

type Played = { stdout: string; stderr: string; rc: number };

/** Undefined for a command line that the test does not play. */
function play(transcript: Transcript): Played | undefined {
  const [program, ...argv] = transcript.argv;
  const name = program === "salt" ? "salt" : program === "salt-call" ? "call" : "run";
  const line = parseCommandLine(name, argv, { version: "0", versionsReport: () => "", readStdin: () => [] });
  if (!line.ok) return { stdout: line.stdout, stderr: line.stderr, rc: line.exitCode };
  const { options, positionals } = line;
  const [target, fun = "", ...words] = name === "salt" ? positionals : ["local", ...positionals];
  const call = parseFunctions(fun, words, ",", { noParse: options.noParse?.split(",") ?? [] });
  if (!call.ok || typeof call.fun !== "string") return undefined;
  const value = playMinion(call.fun, call.arg as Value[]);
  const output = options.output ?? "nested";
  if (value === undefined || !isOutputter(output) || options.outputFile !== undefined) return undefined;
  const shown = name === "run" ? value : new Map([[target ?? "", value]]);
  const indent = options.outputIndent;
  const text = renderOutput(output, shown, {
    colour: options.isColourForced,
    ...(indent === undefined ? {} : { indent }),
  });
  return { stdout: text === "" ? "" : `${text}\n`, stderr: "", rc: 0 };
}

// For outputters of other data, Salt prints only an error, and Saltworks shows the data as nested.
const ownAnswers = ["out_key", "out_overstatestage", "out_virt_query"];

for (const topic of ["arg_parsing", "outputters"]) {
  describe(`the recorded topic ${topic}`, () => {
    let count = 0;
    for (const transcript of transcripts(topic)) {
      const played = play(transcript);
      if (!played || ownAnswers.includes(transcript.name)) continue;
      count += 1;
      it(`is shown as recorded: ${transcript.name}`, () => {
        assert.deepEqual(played, { stdout: transcript.stdout, stderr: transcript.stderr, rc: transcript.rc });
      });
    }
    it("is played for the most part", () => assert.ok(count >= (topic === "arg_parsing" ? 10 : 22), String(count)));
  });
}
