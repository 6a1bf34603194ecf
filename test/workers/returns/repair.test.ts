/** What repair sends of a real job cache, and what it does with returns that cannot be read or sent. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { SharedReturn } from "../../../src/cluster/returns/message.ts";
import { SaltworksError } from "../../../src/errors.ts";
import { numericKeysMax, returnMessageBytesMax, returnRepairTriesMax } from "../../../src/limits.ts";
import { returnRepairer } from "../../../src/master/cluster/member-returns.ts";
import { driverOf } from "../../../src/store/drivers/registry.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import type { RepairPlace, RepairTask } from "../../../src/workers/messages/member-returns.ts";
import { ReturnRepair } from "../../../src/workers/returns/repair.ts";
import { openWorkerState } from "../open-worker-state.ts";

const stampMs = Date.UTC(2026, 10, 29);
const jid = "20261129000000000001";

function bodyOf(fields: Record<string, Encodable> = {}): Buffer {
  return encode({ return: true, fun: "test.ping", _stamp: new Date(stampMs).toISOString(), ...fields }, "bin");
}

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** `isSlow`: whether a try to send takes too long. */
async function open(bodies: Record<string, Uint8Array>, isSlow: (ids: readonly string[]) => boolean = () => false) {
  const { config } = openWorkerState();
  const jobs = driverOf(config).open(config, { isReadOnly: false, onFault: (error) => assert.fail(error) });
  await jobs.keepReturns(Object.entries(bodies).map(([minionId, body]) => ({ jid, minionId, body })));
  await jobs.keepJobs([{ jid, load: encode({ fun: "test.ping" }, "bin"), minions: Object.keys(bodies) }]);
  const faults: string[] = [];
  const repair = new ReturnRepair(config, ({ message }) => faults.push(message));
  closing.push(async () => {
    await repair.close();
    await jobs.close();
  });
  const sent: SharedReturn[] = [];
  let givenUp = 0;
  const cluster = {
    sendAgain: async (returns: readonly SharedReturn[]) => {
      if (isSlow(returns.map(({ minionId }) => minionId)))
        throw new SaltworksError("CLUSTER_UNAVAILABLE", "too slow", { isSlow: true });
      sent.push(...returns.map((one) => ({ ...one, body: Uint8Array.from(one.body) })));
    },
    noteGivenUp: () => {
      givenUp += 1;
    },
  };
  const step = (after?: RepairPlace) => repair.step(cluster, { sinceMs: stampMs - 1_000, after });
  const walk = async () => {
    let after: RepairPlace | undefined;
    do ({ after } = await step(after));
    while (after !== undefined);
  };
  return { jobs, sent, faults, walk, step, givenUp: () => givenUp };
}

describe("repair of a member's returns", () => {
  it("sends returns whose codes are more than one decoding may build", async () => {
    const codes = new Map(Array.from({ length: numericKeysMax + 1 }, (_, at) => [at, 0] as const));
    const { sent, walk } = await open({
      web1: bodyOf({ retcode: codes }),
      web2: bodyOf({ retcode: 1 }),
      web3: bodyOf({ retcode: codes, _stamp: new Date(stampMs - 3_600_000).toISOString() }),
    });
    await walk();
    assert.deepEqual(
      sent.map(({ minionId, isFailed }) => [minionId, isFailed]),
      [
        ["web1", false],
        ["web2", true],
      ],
    );
  });

  it("sends the jobs that minions began along", async () => {
    const whole = bodyOf({ tgt: "web2" });
    const { jobs, sent, walk } = await open({ web1: bodyOf({ tgt: "web1" }), web3: bodyOf() });
    await jobs.keepReturns([{ jid: "20261129000000000002", minionId: "web2", body: whole }]);
    await jobs.keepJobs([{ jid: "20261129000000000002", load: whole, minions: ["web2"] }]);
    await walk();
    assert.deepEqual(sent.map(({ minionId, job }) => [minionId, job]).sort(), [
      ["web1", "ofReturn"],
      ["web2", "isReturn"],
      ["web3", undefined],
    ]);
  });

  it("gives up a large return that takes too long each time, and sends the others", async () => {
    const large = bodyOf({ return: Buffer.alloc(returnMessageBytesMax) });
    const { sent, faults, walk, step, givenUp } = await open({ web1: large, web2: bodyOf() }, ([id]) => id === "web1");
    const start = { jid, minionId: "" };
    for (let tries = 1; tries < returnRepairTriesMax; tries += 1)
      await assert.rejects(step(start), { code: "CLUSTER_UNAVAILABLE" });
    assert.equal(givenUp(), 0);
    await walk();
    assert.equal(givenUp(), 1);
    assert.deepEqual([...new Set(sent.map(({ minionId }) => minionId))], ["web2"]);
    assert.match(faults[0] ?? "", /return of web1 .* only this member has it/);
  });

  it("goes on where it failed", async () => {
    const asked: (string | undefined)[] = [];
    let failures = 1;
    const pool = {
      slotCount: 1,
      offer: async <Result>(_slot: number, { build }: { readonly build: () => { readonly task: object } }) => {
        const { after } = build().task as RepairTask;
        asked.push(after?.jid);
        if (after?.jid === "2" && failures-- > 0) throw new SaltworksError("STORE_FAILED", "the disk is full");
        const at = Number(after?.jid ?? 0) + 1;
        return { sent: 1, after: at > 3 ? undefined : { jid: String(at), minionId: undefined } } as Result;
      },
    };
    const repair = returnRepairer({ pool });
    await assert.rejects(repair(5, true), { code: "STORE_FAILED" });
    assert.equal(await repair(5, false), 4);
    assert.deepEqual(asked, [undefined, "1", "2", "2", "3"]);
    assert.equal(await repair(6, true), 4);
    assert.deepEqual(asked.slice(5), [undefined, "1", "2", "3"]);
  });
});
