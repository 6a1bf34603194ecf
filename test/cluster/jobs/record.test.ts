/** The form of a job in the cluster's sequence. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeJob, encodeJob } from "../../../src/cluster/jobs/record.ts";
import { jobNamesBytesMax, jobRecordBytesMax } from "../../../src/limits.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import { Float } from "../../../src/wire/values.ts";
import { sharedJob } from "./members.ts";

describe("a job in the sequence", () => {
  it("comes back as it was, whole floats and bytes included", () => {
    const fields = new Map<string, unknown>([
      ["fun", "test.echo"],
      ["arg", [new Float(1), Uint8Array.of(0xff, 0), "ä", 2 ** 40, null, new Map([[1, "x"]])]],
    ]) as ReadonlyMap<string, string>;
    const job = sharedJob("20260101000000000001", {
      ...{ fields, kind: "question", target: ["web1", "gone"], targetKind: "list", missing: ["gone"] },
      isReturnless: true,
    });
    const read = decodeJob(encodeJob(job, "member1", 5), 7);
    const { minions, fields: found, ...rest } = read;
    assert.deepEqual(minions?.texts(), ["web1", "web2"]);
    assert.equal(minions?.count, 2);
    assert.deepEqual([...found], [...fields]);
    assert.deepEqual(rest, {
      ...{ serial: 7, member: "member1", atMs: 5, kind: "question", jid: "20260101000000000001" },
      ...{ targetKind: "list", delimiter: ":", isReturnless: true, target: ["web1", "gone"], missing: ["gone"] },
      load: Uint8Array.of(0x80),
    });
  });

  it("leaves the names of its minions out if they are too many", () => {
    const minions = TextList.of(Array.from({ length: jobNamesBytesMax / 32 + 1 }, (_, at) => `m${at}`.padEnd(31, "x")));
    assert.equal(decodeJob(encodeJob(sharedJob("1", { minions }), "member1", 5), 7).minions, undefined);
  });

  it("is refused if it is larger than a message", () => {
    const load = new Uint8Array(jobRecordBytesMax);
    assert.throws(() => encodeJob(sharedJob("1", { load }), "member1", 5), { code: "WIRE_TOO_LARGE" });
  });

  it("of another form is not read", () => {
    const bytes = encodeJob(sharedJob("1"), "member1", 5);
    bytes[0] = 2;
    assert.throws(() => decodeJob(bytes, 7), { code: "CLUSTER_REFUSED", message: /has version 2/ });
    assert.throws(() => decodeJob(new Uint8Array(), 7), { code: "WIRE_MALFORMED" });
  });
});
