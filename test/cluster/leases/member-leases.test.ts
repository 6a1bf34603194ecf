/** Leases of members: the owner stops before another may take over, whatever a clock or a process does. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { afterEach, describe, it } from "node:test";
import { MemberLeases } from "../../../src/cluster/leases/member-leases.ts";
import { readLeaseKey } from "../../../src/cluster/leases/record.ts";
import type { BucketWrite } from "../../../src/cluster/watched-bucket.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";

const times = { leaseMs: 15_000, marginMs: 5_000, renewMs: 1_000_000 };

describe("leases of members", () => {
  const box = secretBoxWith(randomBytes(32));
  const opened: MemberLeases[] = [];
  let revision = 0;
  let newest = new Map<string, number>();
  /** Set while the cluster does not answer. */
  let isDown = false;
  /** While the watches bring nothing. */
  let held: (() => void)[] | undefined;

  afterEach(() => {
    for (const one of opened.splice(0)) one.release();
    newest = new Map();
    isDown = false;
    held = undefined;
  });

  /** Each member has a clock of its own. */
  function member(name: string, startMs: number) {
    const events: string[] = [];
    const clock = { ms: startMs };
    const leases = new MemberLeases({
      ...{ member: name, box, times, now: () => clock.ms },
      put: async (write) => {
        if (isDown) throw new Error("no leader");
        if ((newest.get(write.key) ?? 0) !== write.revision) return undefined;
        revision += 1;
        newest.set(write.key, revision);
        const at = revision;
        if (held === undefined) tell(write, at);
        else held.push(() => tell(write, at));
        return at;
      },
      onGained: () => events.push("gained"),
      onLapsed: () => events.push("lapsed"),
      onFault: () => events.push("fault"),
    });
    opened.push(leases);
    return { leases, clock, events };
  }

  function tell({ key, value }: BucketWrite, at: number): void {
    const read = readLeaseKey(key);
    assert.ok(read?.kind === "lease");
    for (const one of opened) one.note(read.member, at, value);
  }

  it("end for the owner before they end for the others", async () => {
    const [owner, other] = [member("a", 0), member("b", 5_000_000)];
    await Promise.all([owner.leases.renew(), other.leases.renew()]);
    assert.deepEqual([owner.leases.holds, other.leases.holds], [true, true]);
    for (let seconds = 1; seconds <= 20; seconds += 1) {
      owner.clock.ms += 1_000;
      other.clock.ms += 1_000;
      await other.leases.renew();
      assert.equal(owner.leases.holds, seconds < 15, `after ${seconds} s`);
      assert.equal(other.leases.hasLapsed(owner.leases.self), false, `after ${seconds} s`);
    }
    other.clock.ms += 1;
    assert.equal(other.leases.hasLapsed(owner.leases.self), true);
  });

  it("count from when the renewal was sent, so that a process that stood still has none", async () => {
    const { leases, clock, events } = member("a", 0);
    const renewing = leases.renew();
    clock.ms += times.leaseMs;
    await renewing;
    assert.deepEqual([leases.holds, events], [false, []]);
  });

  it("are not taken over by a member without one", async () => {
    const [owner, other] = [member("a", 0), member("b", 0)];
    await Promise.all([owner.leases.renew(), other.leases.renew()]);
    isDown = true;
    other.clock.ms += 60_000;
    await other.leases.renew();
    assert.deepEqual([other.leases.holds, other.leases.hasLapsed(owner.leases.self)], [false, false]);
  });

  it("are shown: held, ended, or not known to a member without one", async () => {
    const [owner, other] = [member("a", 0), member("b", 0)];
    const shown = ({ leases }: typeof owner) => Object.fromEntries(leases.holders());
    await Promise.all([owner.leases.renew(), other.leases.renew()]);
    assert.deepEqual(
      [shown(owner), shown(other)],
      [
        { a: true, b: true },
        { a: true, b: true },
      ],
    );
    for (const { clock } of [owner, other]) clock.ms += 21_000;
    await other.leases.renew();
    other.clock.ms += 14_000;
    await other.leases.renew();
    other.clock.ms += 14_000;
    assert.deepEqual(
      [shown(owner), shown(other)],
      [
        { a: false, b: undefined },
        { a: false, b: true },
      ],
    );
  });

  it("are over at once for a process that stopped in order or was started again", async () => {
    const [owner, other, third] = [member("a", 0), member("b", 0), member("c", 0)];
    for (const { leases } of [owner, other, third]) await leases.renew();
    await owner.leases.end();
    assert.deepEqual([owner.leases.holds, other.leases.hasLapsed(owner.leases.self)], [false, true]);
    const again = member("c", 0);
    again.leases.note("c", newest.get("lease.Yw") ?? 0, undefined);
    newest.delete("lease.Yw");
    await again.leases.renew();
    assert.equal(again.leases.hasLapsed(third.leases.self), true);
    assert.equal(other.leases.hasLapsed(third.leases.self), true);
    assert.equal(other.leases.hasLapsed(again.leases.self), false);
  });

  it("lapse for an owner whose machine slept past their end, though it renews them at once", async () => {
    const { leases, clock, events } = member("a", 0);
    await leases.renew();
    clock.ms += 60_000;
    await leases.renew();
    assert.deepEqual([leases.holds, events], [true, ["gained", "lapsed", "gained"]]);
    assert.equal(leases.counters.lapsed, 1);
  });

  it("are not over for a member whose watch is behind", async () => {
    const [owner, other] = [member("a", 0), member("b", 0)];
    await Promise.all([owner.leases.renew(), other.leases.renew()]);
    held = [];
    for (let seconds = 1; seconds <= 30; seconds += 1) {
      for (const { clock } of [owner, other]) clock.ms += 1_000;
      await Promise.all([owner.leases.renew(), other.leases.renew()]);
      assert.equal(other.leases.hasLapsed(owner.leases.self), false, `after ${seconds} s`);
    }
    for (const tellNow of held) tellNow();
    assert.equal(other.leases.hasLapsed(owner.leases.self), false);
  });
});
