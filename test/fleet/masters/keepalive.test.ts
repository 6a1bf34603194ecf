/** A master's TCP keepalive options, as the system shows them for connections to both ports. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { RawClient } from "../../transport/zmtp/raw-client.ts";
import { startOurMaster } from "../our-master.ts";

const hasSs = spawnSync("ss", ["-V"]).error === undefined;
const skip = hasSs || process.env.CI === "true" ? false : "needs ss of iproute2";

/** The timer, shown by `ss`, of the one connection that was accepted at this port. */
function timerAt(port: number): string {
  const shown = execFileSync("ss", ["-Htno", "state", "established", `( sport = :${port} )`], { encoding: "utf8" });
  return /timer:\(([^)]*)\)/.exec(shown)?.[1] ?? `none in ${JSON.stringify(shown)}`;
}

describe("a master's connections", { skip, timeout: 60_000 }, () => {
  it("are probed after the configured idle time at both ports", async () => {
    const master = await startOurMaster(100, { tcp_keepalive_idle: 1_234 });
    try {
      for (const port of [master.requestPort, master.publishPort]) {
        const client = await RawClient.open(port);
        // When the server has sent its first bytes, it has accepted the connection; the timer of unacknowledged bytes then ends soon.
        await client.take(10);
        let timer = timerAt(port);
        for (let tries = 0; tries < 200 && !timer.startsWith("keepalive"); tries += 1) timer = timerAt(port);
        assert.match(timer, /^keepalive,20min/, `port ${port}`);
        client.close();
      }
    } finally {
      await master.remove();
    }
  });
});
