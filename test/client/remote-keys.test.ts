import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { KeyAdmin, type KeyLists } from "../../src/client/key-admin.ts";
import { RemoteKeys } from "../../src/client/remote-keys.ts";
import { runWheel } from "../../src/runners/wheel.ts";
import { generateMinionKeys } from "../../src/store/keys/text.ts";
import { decode, encode } from "../../src/wire/msgpack.ts";
import type { Value } from "../../src/wire/values.ts";
import { runnerContext } from "../runners/calling.ts";
import { masterAccess } from "../runners/master-access.ts";

const { publicPem } = await generateMinionKeys(2_048);

describe("keys through a master", () => {
  const folder = mkdtempSync(join(tmpdir(), "swr-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  let count = 0;
  let config = { pki_dir: "", cachedir: "", sock_dir: "", id: "m", hash_type: "sha256" as const };
  let refusal: string | undefined;
  const remote = new RemoteKeys({
    wheel: async (fun, kwargs) => {
      if (refusal !== undefined) return { jid: "", value: refusal, isSuccess: false, notes: [], data: new Map() };
      const context = runnerContext({ master: masterAccess({ fire: async () => undefined }), config });
      const args = decode(encode(kwargs, "raw")) as Map<Value, Value>;
      return {
        jid: "",
        value: decode(encode(await runWheel(context, fun, [], args), "bin")),
        isSuccess: true,
        notes: [],
        data: new Map(),
      };
    },
  });

  beforeEach(() => {
    count += 1;
    refusal = undefined;
    const pki = join(folder, String(count));
    config = { ...config, pki_dir: pki, cachedir: join(pki, "cache"), sock_dir: join(pki, "sock") };
    const held = { minions: ["es1", "web1"], minions_pre: ["app1", "bad"], minions_rejected: ["es1", "old"] };
    for (const [state, ids] of Object.entries(held)) {
      mkdirSync(join(pki, state), { recursive: true });
      for (const id of ids) writeFileSync(join(pki, state, id), id === "bad" ? "no key" : publicPem);
    }
    mkdirSync(join(pki, "minions_denied"));
    writeFileSync(join(pki, "master.pub"), publicPem);
  });

  it("are listed, matched and shown as in the directories themselves", async () => {
    const here = new KeyAdmin(config);
    assert.deepEqual(await remote.list(), here.list());
    assert.deepEqual(await remote.list(["pending"]), here.list(["pending"]));
    for (const glob of ["*", "es1,old", "none*"]) {
      const found = here.match(glob);
      assert.deepEqual(await remote.match(glob), found, glob);
      assert.deepEqual(await remote.texts(found), here.texts(found), glob);
    }
    const moved: KeyLists = new Map([
      ["pending", ["es1"]],
      ["accepted", ["old", "gone"]],
    ]);
    assert.deepEqual(await remote.whereabouts(moved), here.whereabouts(moved));
    const usable: KeyLists = new Map([["rejected", ["es1"]]]);
    assert.deepEqual(await remote.fingerprints(usable), here.fingerprints(usable));
    assert.deepEqual(await remote.localFingerprints("mas*"), here.localFingerprints("mas*"));
    assert.equal((await remote.localFingerprints("web*")).size, 0);
  });

  it("are accepted, rejected and deleted in the states that are named, and no others", async () => {
    assert.deepEqual(await remote.apply("accept", new Map([["pending", ["app1", "bad"]]])), ["bad"]);
    assert.deepEqual(new KeyAdmin(config).list().get("accepted"), ["app1", "es1", "web1"]);
    await remote.apply("accept", new Map([["rejected", ["old"]]]));
    assert.deepEqual(new KeyAdmin(config).list(["rejected"]).get("rejected"), ["es1"]);
    await remote.apply("reject", new Map([["accepted", ["web1"]]]));
    assert.deepEqual(new KeyAdmin(config).list(["rejected"]).get("rejected"), ["es1", "web1"]);
    await remote.apply("delete", new Map([["rejected", ["es1"]]]));
    assert.deepEqual(
      new KeyAdmin(config).list(["accepted", "rejected"]),
      new Map([
        ["accepted", ["app1", "es1", "old"]],
        ["rejected", ["web1"]],
      ]),
    );
  });

  it("are refused in the master's own words", async () => {
    refusal = "Exception occurred in wheel key.list_all";
    await assert.rejects(remote.list(), { code: "REQUEST_REFUSED", message: refusal });
  });
});
