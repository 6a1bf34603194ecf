import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JobIds } from "../../../src/master/publish/job-ids.ts";
import { isJid, jidTime } from "../../../src/wire/jid.ts";

const hourMs = 3_600_000;

describe("job ids", () => {
  function clocks() {
    const at = { wallMs: Date.UTC(2026, 10, 22, 12), steadyMs: 1_000.25 };
    const ids = new JobIds({ isUnique: false, nowMs: () => at.wallMs, steadyMs: () => at.steadyMs });
    return { at, ids };
  }

  it("rise within a microsecond, and have microseconds", () => {
    const { at, ids } = clocks();
    const first = ids.next();
    at.steadyMs += 0.5;
    const later = [ids.next(), ids.next(), ids.next()];
    assert.deepEqual(
      [first, ...later],
      ["000000", "000500", "000501", "000502"].map((micros) => `20261122120000${micros}`),
    );
    assert.ok(later.every(isJid));
  });

  it("follow a clock that was set, or a machine that slept while the steady clock stood still", () => {
    const { at, ids } = clocks();
    ids.next();
    for (const stepMs of [12 * hourMs, -30 * hourMs]) {
      at.wallMs += stepMs;
      assert.equal(jidTime(ids.next()).getTime(), at.wallMs);
    }
  });

  it("stay in order over a clock that is set back a little", () => {
    const { at, ids } = clocks();
    const before = ids.next();
    at.wallMs -= 5_000;
    const after = ids.next();
    assert.ok(after > before);
    at.wallMs += 10_000;
    assert.equal(jidTime(ids.next()).getTime(), at.wallMs);
  });

  it("end with the process id where they are to be unique", () => {
    assert.match(new JobIds({ isUnique: true }).next(), new RegExp(`^\\d{20}_${process.pid}$`));
  });
});
