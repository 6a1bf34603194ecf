import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { dispatch } from "../../../src/cli/dispatch.ts";
import { fingerprint } from "../../../src/crypto/pem.ts";
import { readTranscripts, type Transcript, transcript } from "../salt/transcripts.ts";
import { TestHost } from "../test-host.ts";
import { laboratoryPem, laboratoryResets, resetLaboratory } from "./key-laboratory.ts";

/** Sequences are played as a whole. This transcript is not played: current releases do split lists. */
const leftOut = new Set(["accept_list"]);

describe("saltworks key shows what salt-key showed", () => {
  let folder: string;
  const reset = (): void => resetLaboratory(join(folder, "keylab/pki"));
  const run = async (recorded: Pick<Transcript, "argv" | "stdin">): Promise<{ host: TestHost; code: number }> => {
    const host = new TestHost(recorded.stdin);
    const code = await dispatch(
      ["key", "-c", folder, ...recorded.argv.slice(1).map((word) => word.replace("ROOT", folder))],
      host,
    );
    return { host, code };
  };

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "saltworks-keycli-"));
    const lines = [`pki_dir: ${folder}/keylab/pki`, `cachedir: ${folder}/cache`, `sock_dir: ${folder}/run`];
    writeFileSync(join(folder, "master"), `${lines.join("\n")}\n`);
  });
  after(() => rm(folder, { recursive: true }));

  for (const recorded of readTranscripts("salt_key")) {
    if (leftOut.has(recorded.name)) continue;
    it(`${recorded.name}: ${recorded.argv.join(" ")}`, async () => {
      if (laboratoryResets.has(recorded.name)) reset();
      const { host, code } = await run(recorded);
      assert.equal(withoutKeys(host.out), withoutKeys(recorded.stdout));
      assert.equal(host.err, recorded.stderr.replaceAll("ROOT", folder));
      assert.equal(code, recorded.rc);
    });
  }

  it("shows the fingerprints of the master's own files with the others", async () => {
    reset();
    writeFileSync(join(folder, "keylab/pki/master.pub"), laboratoryPem);
    const { host } = await run(transcript("salt_key_fleet", "finger_master"));
    assert.equal(host.out, `Local Keys:\nmaster.pub:  ${fingerprint(laboratoryPem)}\n`);
    const all = await run({ argv: ["salt-key", "-F"] });
    assert.match(all.host.out, /^Local Keys:\nmaster\.pub: {2}[\da-f:]+\nAccepted Keys:\nes1: {2}[\da-f:]+\n/);
  });

  it("takes several globs at once, as current releases do", async () => {
    reset();
    const { host } = await run({ argv: ["salt-key", "-y", "-a", "batch-07,10.40.0.21"] });
    assert.match(host.out, /Key for minion 10\.40\.0\.21 accepted\.\nKey for minion batch-07 accepted\.\n$/);
  });

  it("refuses a file that is not a key, with a message", async () => {
    reset();
    writeFileSync(join(folder, "keylab/pki/minions_pre/batch-07"), "no key");
    const { host, code } = await run({ argv: ["salt-key", "-y", "-a", "batch-07"] });
    assert.equal(host.err, "Unable to accept invalid key for batch-07.\n");
    assert.equal(host.out, "The following keys are going to be accepted:\nUnaccepted Keys:\nbatch-07\n");
    assert.equal(code, 0);
  });
});

/** Keys and fingerprints differ from the recorded ones in value, but not in form. */
function withoutKeys(text: string): string {
  return text
    .replaceAll(/-----BEGIN PUBLIC KEY-----\n[\s\S]*?\n-----END PUBLIC KEY-----/g, "PEM")
    .replaceAll(/\b[\da-f]{2}(?::[\da-f]{2}){31}\b/g, "FINGERPRINT");
}
