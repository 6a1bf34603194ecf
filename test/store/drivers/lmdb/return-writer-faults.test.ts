/** While the store cannot be read, returns are refused with the reason; they are stored when they come again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReturnWriter } from "../../../../src/store/drivers/lmdb/return-writer.ts";
import { returnOf } from "../../../contract/job-samples.ts";
import { temporaryDirectories } from "../../temporary.ts";

describe("a store that cannot be asked about returns", () => {
  const temporary = temporaryDirectories();
  const jid = "20260102030405000001";

  for (const question of ["hasAny", "has"] as const) {
    it(`refuses them when ${question} fails, and takes them the next time as new`, async () => {
      let isFailing = false;
      const answer = (name: string, value: boolean) => {
        if (isFailing && name === question) throw new Error("MDB_PANIC");
        return value;
      };
      const writer = new ReturnWriter({
        directory: temporary(),
        isSynced: true,
        stored: { hasAny: () => answer("hasAny", true), has: () => answer("has", false) },
        store: () => undefined,
        onFault: (error) => assert.fail(error),
      });
      if (question === "has") await writer.put([returnOf(jid, "earlier")]);
      isFailing = true;
      await assert.rejects(writer.put([returnOf(jid, "m1"), returnOf(jid, "m2")]), {
        code: "STORE_FAILED",
        message: /MDB_PANIC/,
      });
      isFailing = false;
      assert.deepEqual(await writer.put([returnOf(jid, "m1"), returnOf(jid, "m2")]), ["stored", "stored"]);
      assert.deepEqual(await writer.put([returnOf(jid, "m1")]), ["duplicate"]);
      await writer.close();
    });
  }
});
