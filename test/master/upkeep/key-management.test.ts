import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { pino } from "pino";
import { SaltworksError } from "../../../src/errors.ts";
import { KeyManagement } from "../../../src/master/upkeep/key-management.ts";
import type { KeyChange } from "../../../src/store/keys/keys.ts";
import type { MasterSecrets } from "../../../src/store/secrets/secrets.ts";

type Agreement = {
  readonly signed: readonly string[];
  readonly createdMs: number;
  readonly agreed: Promise<void> | undefined;
};

/** Secrets that check when they change. `agreeing`: whether publishes were held up at each agreement. */
function fakeSecrets({ signed, createdMs, agreed }: Agreement) {
  let exclusive = 0;
  const isExclusive = () => exclusive > 0;
  const agreeing: boolean[] = [];
  const state = {
    aes: "key-0",
    former: undefined as MasterSecrets["former"],
    createdMs,
  };
  const secrets: MasterSecrets = {
    get aes() {
      return state.aes;
    },
    get former() {
      return state.former;
    },
    get createdMs() {
      return state.createdMs;
    },
    isFresh: false,
    freshReason: undefined,
    nextSerial: () => 1,
    agree: async (nowMs, graceMs, aes) => {
      assert.ok(signed.includes(aes), "it was signed before the others have it");
      agreeing.push(isExclusive());
      await agreed;
      return {
        aes: `key-${Number(state.aes.slice(4)) + 1}`,
        former: { key: state.aes, untilMs: nowMs + graceMs },
        createdMs: nowMs,
      };
    },
    adopt: ({ aes, former, createdMs }) => {
      assert.ok(isExclusive(), "no publish is under way while the key changes");
      assert.ok(signed.includes(aes), "it was signed before it is in use");
      Object.assign(state, { aes, former, createdMs });
    },
    ...{ close: () => undefined, noteSerial: () => undefined },
  };
  const exclusively = async (step: () => Promise<void>) => {
    exclusive += 1;
    await step().finally(() => {
      exclusive -= 1;
    });
  };
  return { secrets, state, agreeing, exclusively };
}

function openManagement(
  options: {
    rotatesOnRemoval?: boolean;
    createdMs?: number;
    replaced?: string[];
    isDeaf?: boolean;
    steadyMs?: () => number;
    /** When the other members of a cluster agree. */
    agreed?: Promise<void>;
  } = {},
) {
  const [log, signed]: [string[], string[]] = [[], []];
  const { createdMs = Date.now(), agreed } = options;
  const { secrets, state, agreeing, exclusively } = fakeSecrets({ signed, createdMs, agreed });
  const accepted = new Set(["a", "b"]);
  const faults = { sign: false, distribute: false };
  const management = new KeyManagement({
    ...(options.steadyMs === undefined ? {} : { steadyMs: options.steadyMs }),
    secrets,
    accepted,
    graceMs: 1_000,
    rotatesOnRemoval: options.rotatesOnRemoval ?? true,
    sessionMs: 86_400_000,
    logger: pino({ level: "silent" }),
    signMasterKey: async (aes) => {
      if (faults.sign) throw new SaltworksError("WORKER_LOST", "the thread ended");
      signed.push(aes);
      return Buffer.from(aes);
    },
    distributeKeys: async (keys) => {
      if (faults.distribute) throw new SaltworksError("WORKER_LOST", "no worker hears");
      log.push(`keys ${keys.aes} after ${keys.former?.key}`);
    },
    distributeChange: async (change) => {
      log.push(`change +${change.added} -${change.removed} ~${change.changed}`);
      const fault = options.isDeaf === true ? new SaltworksError("WORKER_LOST", "no worker hears") : undefined;
      return { replaced: change.changed.filter((id) => options.replaced?.includes(id)), fault };
    },
    onRemoved: (id) => void log.push(`removed ${id}`),
    fire: (tag) => void log.push(`event ${tag}`),
    exclusively,
    onRotated: () => undefined,
  });
  const change = (part: Partial<KeyChange>) =>
    management.apply({ added: [], removed: [], changed: [], rotate: false, ...part });
  return { management, accepted, log, change, state, faults, agreeing };
}

describe("KeyManagement", () => {
  it("tells every worker of a removal before publishes move to a new key, and says so on the bus", async () => {
    const { accepted, log, change } = openManagement();
    await change({ removed: ["a"], rotate: true });
    assert.deepEqual([...accepted], ["b"]);
    assert.deepEqual(log, ["removed a", "change + -a ~", "keys key-1 after key-0", "event key"]);
  });

  it("lets publishes go on while the members of a cluster agree on the new key", async () => {
    let agree = () => {};
    const agreed = new Promise<void>((resolve) => {
      agree = resolve;
    });
    const { log, change, agreeing } = openManagement({ agreed });
    const changed = change({ rotate: true });
    while (agreeing.length === 0) await setImmediate();
    assert.deepEqual([agreeing, log], [[false], []]);
    agree();
    await changed;
    assert.deepEqual(log, ["keys key-1 after key-0", "event key"]);
  });

  it("tells of ids that a worker accepted", () => {
    const { management, accepted } = openManagement();
    const told: string[] = [];
    management.onAccepted((ids) => told.push(...ids));
    management.noteAccepted(["c"]);
    assert.deepEqual([told, accepted.has("c")], [["c"], true]);
  });

  it("rotates for a removal by hand too, unless rotate_aes_key is off", async () => {
    const on = openManagement();
    await on.change({ removed: ["a"] });
    assert.ok(on.log.includes("keys key-1 after key-0"));
    const off = openManagement({ rotatesOnRemoval: false });
    await off.change({ removed: ["a"] });
    assert.deepEqual(off.log, ["removed a", "change + -a ~"]);
  });

  it("rotates once for one command whose dropfile comes after its removals, and again for a later one", async () => {
    let nowMs = 1_000_000;
    const { log, change } = openManagement({ steadyMs: () => nowMs });
    await change({ removed: ["a"] });
    nowMs += 900;
    await change({ rotate: true });
    assert.equal(log.filter((line) => line === "event key").length, 1);
    nowMs += 60_000;
    await change({ rotate: true });
    assert.equal(log.filter((line) => line === "event key").length, 2);
  });

  it("does not rotate when keys are only added or changed", async () => {
    const { accepted, log, change } = openManagement();
    await change({ added: ["c"], changed: ["b"] });
    assert.deepEqual([...accepted], ["a", "b", "c"]);
    assert.deepEqual(log, ["change +c - ~b"]);
  });

  it("rotates when a key was replaced by another key", async () => {
    const { accepted, log, change } = openManagement({ replaced: ["b"] });
    await change({ changed: ["a", "b"] });
    assert.deepEqual([...accepted], ["a", "b"]);
    assert.deepEqual(log, ["change + - ~a,b", "removed b", "keys key-1 after key-0", "event key"]);
  });

  it("rotates also if a worker could not be told", async () => {
    const { accepted, log, change } = openManagement({ isDeaf: true });
    await assert.rejects(change({ removed: ["a"] }), { code: "WORKER_LOST" });
    assert.deepEqual([...accepted], ["b"]);
    assert.ok(log.includes("keys key-1 after key-0"));
  });

  it("tries a rotation that failed again, and starts no serials anew under a key that no worker has", async () => {
    for (const step of ["sign", "distribute"] as const) {
      const { management, log, change, state, faults } = openManagement();
      faults[step] = true;
      await assert.rejects(change({ removed: ["a"] }), { code: "WORKER_LOST" });
      assert.equal(state.aes, step === "sign" ? "key-0" : "key-1");
      faults[step] = false;
      await management.rotateIfDue();
      assert.ok(log.includes("keys key-1 after key-0"), "the same key, and the former with its grace");
      const count = log.length;
      await management.rotateIfDue();
      assert.equal(log.length, count, "once");
    }
  });

  it("rotates for a replaced key also if another worker could not be told", async () => {
    const { log, change } = openManagement({ isDeaf: true, replaced: ["b"] });
    await assert.rejects(change({ changed: ["b"] }), { code: "WORKER_LOST" });
    assert.deepEqual(log.slice(1, 3), ["removed b", "keys key-1 after key-0"]);
  });

  it("rotates once for a removal that is reported twice, and again for a key that came back and was removed", async () => {
    const { management, log, change } = openManagement();
    await Promise.all([change({ removed: ["a"] }), change({ removed: ["a"] })]);
    assert.equal(log.filter((line) => line === "event key").length, 1);
    management.noteAccepted(["a"]);
    await change({ removed: ["a"] });
    assert.equal(log.filter((line) => line === "event key").length, 2);
  });

  it("has the watch look at what workers accept", () => {
    const { management } = openManagement();
    const noted: string[] = [];
    management.useWatch({ noteServed: (ids) => void noted.push(...ids), lookForNew: () => undefined });
    management.noteAccepted(["c", "d"]);
    assert.deepEqual(noted, ["c", "d"]);
  });

  it("waits before a publish for keys that the watch finds, and for nothing else", async () => {
    const { management, accepted, change } = openManagement();
    const found = [["c"], []];
    management.useWatch({
      noteServed: () => undefined,
      lookForNew: () => {
        const added = found.shift() ?? [];
        if (added.length > 0) void change({ added });
      },
    });
    await management.lookForNew();
    assert.ok(accepted.has("c"));
    assert.equal(management.lookForNew(), undefined);
  });

  it("waits for keys that were found before and that some worker does not know yet", async () => {
    const { management, accepted, log, change } = openManagement();
    management.useWatch({ noteServed: () => undefined, lookForNew: () => undefined });
    const changes = [change({ removed: ["a"] }), change({ added: ["c"] }), change({ removed: ["b"] })];
    await management.lookForNew();
    assert.ok(accepted.has("c") && log.includes("change +c - ~"));
    assert.equal(log.filter((line) => line === "event key").length, 1, "and not for the rotation behind them");
    await Promise.all(changes);
    assert.equal(management.lookForNew(), undefined);
  });

  it("rotates when the key has served its session, and not before", async () => {
    let nowMs = 1_000_000;
    const { management, log } = openManagement({ createdMs: Date.now() - 86_000_000, steadyMs: () => nowMs });
    nowMs += 390_000;
    await management.rotateIfDue();
    assert.deepEqual(log, []);
    nowMs += 20_000;
    await management.rotateIfDue();
    assert.deepEqual(log, ["keys key-1 after key-0", "event key"]);
    nowMs += 86_400_000;
    await management.rotateIfDue();
    assert.equal(log.length, 2);
  });

  it("rotates in time although the clock was set back a year since the key was made", async () => {
    let nowMs = 1_000_000;
    const { management, log } = openManagement({ createdMs: Date.now() + 365 * 86_400_000, steadyMs: () => nowMs });
    nowMs += 86_400_001;
    await management.rotateIfDue();
    assert.deepEqual(log, ["keys key-1 after key-0", "event key"]);
  });

  it("uses another member's key, and honours its own former one where the cluster's former one is another", async () => {
    const { management, log } = openManagement();
    const createdMs = Date.now();
    await management.follow({ aes: "key-0", former: undefined, createdMs });
    assert.deepEqual(log, [], "the key that it has changes nothing");
    await management.follow({ aes: "cluster-1", former: { key: "key-0", untilMs: createdMs + 500 }, createdMs });
    await management.follow({ aes: "cluster-3", former: { key: "cluster-2", untilMs: createdMs + 500 }, createdMs });
    assert.deepEqual(log, [
      ...["keys cluster-1 after key-0", "event key"],
      ...["keys cluster-3 after cluster-1", "event key"],
    ]);
  });
});
