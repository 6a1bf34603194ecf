/** Execution module `test`: whether the minion answers, and functions that behave in known ways. Source: Salt 3007's `test`, docs/functions.md. */

import { createHash, randomInt } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { strOf } from "../../../python/repr.ts";
import { type Encodable, floatItem, intItem } from "../../../wire/values.ts";
import { commandError, pythonException } from "../../functions/errors.ts";
import type { BoundArguments, CallContext } from "../../functions/module-contract.ts";
import { wholeNumber } from "../../functions/number-words.ts";
import { describe } from "../declare/describe.ts";
import type { ModuleFunctions } from "../declare/module-functions.ts";
import { argument, signature } from "../declare/signature.ts";
import { argumentFunctions } from "./arguments.ts";
import { failureFunctions } from "./failures.ts";
import { reportFunctions } from "./reports.ts";

/** The default upper bound of a random number, as in Salt. */
const randomTop = 9_999_999_999;

const basicFunctions: ModuleFunctions = {
  "test.ping": {
    ...signature(""),
    doc: describe("Answers True: the minion is up and takes jobs. No network ping.", "test.ping"),
    run: () => true,
  },
  "test.echo": {
    ...signature("text"),
    doc: describe("Returns the text it was given.", "test.echo 'foo bar'"),
    run: (_, args) => argument(args, "text"),
  },
  "test.outputter": {
    ...signature("data"),
    doc: describe("Returns the data it was given, to try outputters with.", "test.outputter foobar"),
    run: (_, args) => argument(args, "data"),
  },
  "test.true": { ...signature(""), pythonName: "true_", doc: describe("Returns True.", "test.true"), run: () => true },
  "test.false": {
    ...signature(""),
    pythonName: "false_",
    doc: describe("Returns False.", "test.false"),
    run: () => false,
  },
  "test.retcode": {
    ...signature("code=42"),
    doc: describe("Returns True with the given code as the job's retcode.", "test.retcode 42"),
    run: (context, args) => {
      context.setRetcode(wholeNumber(argument(args, "code")));
      return true;
    },
  },
  "test.sleep": {
    ...signature("length"),
    doc: describe("Waits that many seconds.", "test.sleep 20"),
    run: (_, args) => pause(wholeNumber(argument(args, "length"))),
  },
  "test.rand_sleep": {
    ...signature("max=60"),
    doc: describe("Waits a random number of seconds, at most `max`.", "test.rand_sleep 60"),
    run: (_, args) => pause(randomInt(0, wholeNumber(argument(args, "max")) + 1)),
  },
  "test.fib": {
    ...signature("num"),
    doc: describe("Returns the Fibonacci number at that index, and the seconds it took.", "test.fib 3"),
    run: (_, args) => fibonacci(wholeNumber(argument(args, "num"))),
  },
  "test.collatz": {
    ...signature("start"),
    doc: describe("Returns the Collatz sequence from a number down to 2, and the seconds it took.", "test.collatz 3"),
    run: (_, args) => collatz(wholeNumber(argument(args, "start"))),
  },
  "test.rand_str": {
    ...signature(`size=${randomTop}, hash_type=None`),
    doc: describe("Returns the hash, in hexadecimal, of a random number up to `size`.", "test.rand_str 16"),
    run: randomHash,
  },
  "test.random_hash": {
    ...signature(`size=${randomTop}, hash_type=None`),
    doc: describe(
      "Returns the hash, in hexadecimal, of a random number up to `size`.",
      "test.random_hash hash_type=md5",
    ),
    run: randomHash,
  },
};

async function pause(seconds: number): Promise<boolean> {
  if (seconds < 0) throw pythonException("ValueError", "sleep length must be non-negative");
  await sleep(seconds * 1_000);
  return true;
}

function elapsedSeconds(startNs: bigint): Encodable {
  return floatItem(Number(process.hrtime.bigint() - startNs) / 1e9);
}

function fibonacci(place: number): Encodable {
  if (place < 0) throw pythonException("ValueError", "Negative number is not allowed!");
  const startNs = process.hrtime.bigint();
  let [previous, current] = [0n, place < 2 ? BigInt(place) : 1n];
  for (let index = 1; index < place; index += 1) [previous, current] = [current, previous + current];
  return [intItem(current), elapsedSeconds(startNs)];
}

/** Python's division turns every number after the first even one into a float. */
function collatz(start: number): Encodable {
  if (start < 1) throw pythonException("ValueError", "start must be at least 1");
  const startNs = process.hrtime.bigint();
  const steps: Encodable[] = [];
  let isFloat = false;
  for (let value = start; value !== 1; ) {
    steps.push(isFloat ? floatItem(value) : value);
    isFloat = isFloat || value % 2 === 0;
    value = value % 2 === 0 ? value / 2 : value * 3 + 1;
  }
  return [steps, elapsedSeconds(startNs)];
}

function randomHash(context: CallContext, args: BoundArguments): string {
  const [size, hashType] = [argument(args, "size"), argument(args, "hash_type")];
  const algorithm = hashType === null || hashType === "" ? context.config.hash_type : strOf(hashType);
  if (!/^[a-z0-9_]+$/.test(algorithm)) throw commandError(`No hash is named ${algorithm}`);
  // randomInt takes ranges below 2^48 only.
  const top = Math.min(wholeNumber(size), 2 ** 48 - 2);
  return createHash(algorithm)
    .update(String(randomInt(0, top + 1)))
    .digest("hex");
}

export const testModule: ModuleFunctions = {
  ...basicFunctions,
  ...argumentFunctions,
  ...failureFunctions,
  ...reportFunctions,
};
