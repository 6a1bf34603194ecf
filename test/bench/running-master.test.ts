/** Which options about a master that runs already go together. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { understandBench } from "../../bench/commands/run-request.ts";
import { readRunningMaster } from "../../bench/commands/running-request.ts";
import { TestHost } from "../cli/test-host.ts";

const configDir = mkdtempSync(join(tmpdir(), "sw-running-"));
writeFileSync(join(configDir, "master"), `root_dir: ${configDir}\ninterface: 127.0.0.9\n`);
after(() => rmSync(configDir, { recursive: true, force: true }));

function read(...words: string[]) {
  return readRunningMaster(understandBench(["return-storm", ...words], new TestHost()).options);
}

describe("options of a running master", () => {
  it("give nothing without a master", () => {
    assert.equal(read(), undefined);
  });

  it("take the configuration's interface as the host", () => {
    assert.equal(read("-c", configDir)?.host, "127.0.0.9");
  });

  it("take names, addresses and ports", () => {
    assert.deepEqual(read("--master", "[::1]", "--ports", "1,2"), { host: "::1", ports: { publish: 1, request: 2 } });
    assert.equal(read("--master", "m", "--metrics", "m:9149")?.metricsUrl, "http://m:9149/metrics");
  });

  for (const [words, message] of [
    [["--ports", "1,2"], /--ports is about a master that runs already/],
    [
      ["--master", "192.0.2.1", "-c", configDir],
      /--config-dir is about a master on this machine, and 192\.0\.2\.1 is another/,
    ],
    [["--master", "192.0.2.1", "--pid", "1"], /--pid is about a master on this machine/],
    [["--master", "a b"], /--master takes a host name or address/],
    [["--master", "m", "--ports", "1"], /--ports takes PUBLISH,REQUEST/],
    [["--master", "m", "--workers", "2"], /--workers is about masters that the bench starts/],
  ] as const) {
    it(`refuse ${words.join(" ").replace(configDir, "DIR")}`, () => {
      assert.throws(() => read(...words), message);
    });
  }
});
