import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openServiceManager } from "../../../src/cli/daemon/service-manager.ts";
import { Datagrams } from "../log/datagrams.ts";

const silent = { warn: () => undefined, error: () => undefined };

describe("the service manager", () => {
  it("hears through a socket of a path or of the abstract space, and children get none of its variables", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sw-"));
    for (const path of [join(folder, "notify"), `@saltworks-test-${process.pid}`]) {
      const datagrams = await Datagrams.bind(path);
      const environment = { NOTIFY_SOCKET: path, WATCHDOG_USEC: "1000000", WATCHDOG_PID: "1", OTHER: "stays" };
      const manager = await openServiceManager(environment, silent);
      manager.tell("READY=1", "STATUS=ready");
      assert.equal(await datagrams.next(), "READY=1\nSTATUS=ready");
      assert.deepEqual(environment, { OTHER: "stays" });
      manager.close();
      datagrams.close();
    }
    rmSync(folder, { recursive: true });
  });

  it("hears that a process is alive only as long as its threads answer", async () => {
    const path = `@saltworks-watchdog-${process.pid}`;
    const datagrams = await Datagrams.bind(path);
    const environment = { NOTIFY_SOCKET: path, WATCHDOG_USEC: "200000" };
    const faults: unknown[] = [];
    const manager = await openServiceManager(environment, { ...silent, error: (fault: unknown) => faults.push(fault) });
    let answers = 0;
    let tellSilence: () => void = () => undefined;
    const silence = new Promise<void>((resolve) => {
      tellSilence = resolve;
    });
    manager.watch(() => {
      answers += 1;
      if (answers <= 2) return Promise.resolve(true);
      if (answers === 4) tellSilence();
      return new Promise<never>(() => undefined);
    });
    assert.equal(await datagrams.next(), "WATCHDOG=1");
    assert.equal(await datagrams.next(), "WATCHDOG=1");
    // By then one watchdog question has got no answer.
    await silence;
    manager.tell("STATUS=asked again");
    assert.equal(await datagrams.next(), "STATUS=asked again");
    assert.equal(faults.length >= 1, true);
    manager.close();
    datagrams.close();
  });
});
