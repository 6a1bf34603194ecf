import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openCase, recordedCases, removeCase, resultOf } from "./golden.ts";

describe("state.show_*", () => {
  for (const { name, files, calls } of recordedCases("compile.json")) {
    for (const call of calls) {
      it(`compiles as Salt does: ${name}, ${[call.fun, ...call.args].join(" ")}`, async () => {
        const { root, world } = await openCase(files);
        try {
          const result = await resultOf(world, call);
          assert.deepEqual(result, call.result, world.logged.join("\n"));
          assert.equal(JSON.stringify(result), JSON.stringify(call.result), "the order of keys");
        } finally {
          removeCase(root);
        }
      });
    }
  }
});
