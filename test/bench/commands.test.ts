/** `record` and `size` refuse what would fail or have no effect before they begin, and tell the truth about an early end. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { benchCommand } from "../../bench/commands/bench.ts";
import { sizeCommand } from "../../bench/commands/size.ts";
import { readMembers, readPeers } from "../../bench/peers/choices.ts";
import { scenarios } from "../../bench/scenarios/registry.ts";
import type { Host } from "../../src/cli/host/host.ts";
import type { Progress } from "../../src/cli/host/progress.ts";

const folder = mkdtempSync(join(tmpdir(), "sw-bench-commands-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let told = "";
const host = {
  environment: {},
  columns: 100,
  write: () => undefined,
  complain: (text: string) => {
    told += text;
  },
  onInterrupt: () => () => undefined,
} as unknown as Host;
const progress = { phase: () => ({ step: () => undefined, end: () => undefined }) } as unknown as Progress;
const record = (...words: string[]) => benchCommand(["record", ...words], host, progress);
const size = (...words: string[]) => sizeCommand(words, host, progress);

describe("saltworks bench record", () => {
  it("refuses a directory that does not exist, before it watches anything", async () => {
    const file = join(folder, "nowhere", "day.yaml");
    // Nothing listens at this port, so that a look at the metrics would fail otherwise.
    await assert.rejects(record(file, "--master", "127.0.0.1", "--metrics", "http://127.0.0.1:9"), {
      code: "USAGE",
      message: /there is no directory/,
    });
  });

  it("refuses a page that is not a Saltworks master's metrics", async () => {
    const server = createServer((_, response) => response.end("<html>hello</html>"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const file = join(folder, "day.yaml");
      const url = `http://127.0.0.1:${port}`;
      await assert.rejects(record(file, "--master", "127.0.0.1", "--metrics", url, "--seconds", "1"), {
        code: "MASTER_UNREACHABLE",
        message: /does not give the metrics of a Saltworks master/,
      });
      assert.equal(existsSync(file), false);
    } finally {
      server.close();
    }
  });

  it("refuses options of other modes by name", async () => {
    for (const [option, value] of [
      ["--minions", "5"],
      ["--fail-if", "return.p99>5ms"],
      ["--pid", "1"],
    ] as const)
      await assert.rejects(record(join(folder, "x.yaml"), "--master", "127.0.0.1", option, value), {
        code: "USAGE",
        message: `saltworks bench record has no use for ${option}`,
      });
  });
});

describe("saltworks size", () => {
  it("refuses options of the other mode by name", async () => {
    await assert.rejects(size("--calibrate", "--peak", "3"), {
      code: "USAGE",
      message: "saltworks size --calibrate has no use for --peak",
    });
    await assert.rejects(size("--minutes", "3"), { code: "USAGE", message: "--minutes goes with --calibrate" });
    await assert.rejects(size("--output", folder), { code: "USAGE", message: "--output goes with --calibrate" });
  });

  it("refuses a check of hours before it starts", async () => {
    await assert.rejects(size("--check", "--job", "test.ping,a-day=1"), { code: "USAGE", message: /^--check: at / });
  });

  it("names no file after an early Ctrl-C of a calibration", async () => {
    told = "";
    const interrupted = {
      ...host,
      onInterrupt: (stop: () => void) => {
        stop();
        return () => undefined;
      },
    } as unknown as Host;
    assert.equal(await sizeCommand(["--calibrate", "--output", folder], interrupted, progress), 130);
    assert.match(told, /saltworks size: interrupted before a run was whole: nothing was written\n$/);
    assert.deepEqual(readdirSync(folder), []);
  });
});

describe("saltworks bench --members", () => {
  const scenarioNamed = (name: string) => {
    const found = scenarios.find((scenario) => scenario.name === name);
    assert.ok(found);
    return found;
  };

  it("refuses by name what a cluster cannot be loaded with", () => {
    const refusals: [name: string, options: Parameters<typeof readMembers>[1], message: RegExp][] = [
      ["return-storm", { members: 2 }, /--members takes a number from 3 to 5, not 2/],
      ["return-storm", { members: 3, against: "salt" }, /--against alone, not salt/],
      ["return-storm", { members: 3, against: "floor" }, /--against alone, not floor/],
      ["return-storm", { against: "alone" }, /give --members/],
      ["key-rotation", { members: 3 }, /key-rotation drives one master/],
    ];
    for (const [name, options, message] of refusals)
      assert.throws(() => readMembers(scenarioNamed(name), options), { code: "USAGE", message });
  });

  it("names nats-server if it is missing, before it starts anything", async () => {
    const missing = join(folder, "no-server");
    const words = ["--members", "3", "--minions", "4", "--master-config", `cluster_nats_server=${missing}`];
    await assert.rejects(benchCommand(["return-storm", ...words, "--output", folder], host, progress), {
      code: "USAGE",
      message: /--members needs nats-server: .*no-server: there is no such file/,
    });
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("return-storm")),
      [],
    );
  });

  it("takes a master without a cluster, with the same options, as the peer", () => {
    const ours = { workers: 1, config: { keysize: 2_048 } };
    const peers = readPeers(scenarioNamed("return-storm"), { members: 3, against: "alone" }, host, ours);
    assert.deepEqual(peers, [{ kind: "saltworks", ...ours }]);
  });
});
