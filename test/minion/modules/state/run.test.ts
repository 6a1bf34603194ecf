import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { asValue } from "../../../../src/wire/values.ts";
import { plainJson } from "../../../plain.ts";
import type { World } from "../world.ts";
import { openCase, type RecordedCall, recordedCases, removeCase } from "./golden.ts";

const failedStart = "One or more requisite failed: ";

/** Without times, which differ, and with the case's directory as in the recording. Salt names failed requisites in any order. */
function comparable(value: unknown, root: string): unknown {
  const times = ["duration", "start_time", "pid"];
  const text = JSON.stringify(value, (key, member: unknown) => {
    if (times.includes(key)) return undefined;
    // Whether an event is heard depends on a minion's daemon, which did not run at the recording.
    if (member instanceof Object && "comment" in member && member.comment === "Event fired")
      return { ...member, result: "either" };
    // The text of a template's error is our own.
    if (typeof member === "string" && member.includes("Jinja variable")) return "Jinja";
    if (typeof member !== "string" || !member.startsWith(failedStart)) return member;
    return failedStart + member.slice(failedStart.length).split(", ").sort().join(", ");
  });
  return JSON.parse(text.replaceAll(root, "@ROOT@"));
}

async function outcomeOf(world: World, call: RecordedCall): Promise<{ result: unknown; retcode: number }> {
  try {
    const { value, retcode } = await world.call([`state.${call.fun}`, ...call.args]);
    return { result: plainJson(asValue(value)), retcode };
  } catch (error) {
    return { result: { __exception__: "SaltInvocationError", text: (error as Error).message }, retcode: 0 };
  }
}

describe("state runs", () => {
  for (const { name, files, calls } of recordedCases("run.json")) {
    it(`run as Salt's do: ${name}`, async () => {
      const { root, world } = await openCase(files);
      try {
        for (const call of calls) {
          const { result, retcode } = await outcomeOf(world, call);
          const place = [call.fun, ...call.args].join(" ");
          assert.deepEqual(comparable(result, root), comparable(call.result, root), place);
          assert.equal(retcode, call.retcode, place);
        }
      } finally {
        removeCase(root);
      }
    });
  }
});
