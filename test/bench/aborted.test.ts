/** An abort that comes before a listener is attached still prevents the start of the next process. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFleet } from "../../bench/fleet/fleet.ts";
import { runAgainst } from "../../bench/peers/against.ts";

const folder = mkdtempSync(join(tmpdir(), "saltworks-aborted-"));
after(() => rmSync(folder, { recursive: true }));
const reason = new Error("enough");

describe("an abort", () => {
  it("while keys are made opens no fleet", async () => {
    const aborter = new AbortController();
    const opening = openFleet({
      masterHost: "127.0.0.1",
      requestPort: 1,
      minionCount: 1,
      keyDirectory: join(folder, "keys"),
      onKeyProgress: () => aborter.abort(reason),
      signal: aborter.signal,
    }).then((fleet) => fleet.close());
    await assert.rejects(opening, reason);
    assert.ok(aborter.signal.aborted, "keys were made");
  });

  it("before a comparison's masters are up starts none of them", async () => {
    const phases: string[] = [];
    const progress = {
      phase: (name: string) => {
        phases.push(name);
        return { step() {}, end() {} };
      },
    };
    const running = runAgainst({
      scenario: "return-storm",
      parameters: { minions: 1 },
      masters: [{ kind: "saltworks" }, { kind: "saltworks" }],
      repeats: 1,
      progress,
      signal: AbortSignal.abort(reason),
    });
    await assert.rejects(running, reason);
    assert.deepEqual(phases, []);
  });
});
