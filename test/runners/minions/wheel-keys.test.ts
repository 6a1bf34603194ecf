import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { runWheel } from "../../../src/runners/wheel.ts";
import { generateMinionKeys } from "../../../src/store/keys/text.ts";
import { decode, encode } from "../../../src/wire/msgpack.ts";
import type { Value } from "../../../src/wire/values.ts";
import { plain } from "../../plain.ts";
import { runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

const { publicPem } = await generateMinionKeys(2_048);

describe("wheel key", () => {
  const folder = mkdtempSync(join(tmpdir(), "swk-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  let pkiDir = "";
  let count = 0;
  let fired: unknown[] = [];
  beforeEach(() => {
    count += 1;
    pkiDir = join(folder, String(count));
    fired = [];
    const held = {
      minions: ["es1", "Es2"],
      minions_pre: ["app1", "bad"],
      minions_rejected: ["old"],
      minions_denied: [],
    };
    for (const [state, ids] of Object.entries(held)) {
      mkdirSync(join(pkiDir, state), { recursive: true });
      for (const id of ids) writeFileSync(join(pkiDir, state, id), id === "bad" ? "no key" : publicPem);
    }
    writeFileSync(join(pkiDir, "master.pub"), publicPem);
  });
  const wheel = async (name: string, kwargs: Record<string, Value> = {}): Promise<unknown> => {
    const master = masterAccess({ fire: async ({ tag, data }) => void fired.push([tag, plain(decode(data))]) });
    const context = runnerContext({ master, config: { pki_dir: pkiDir, hash_type: "sha256" } });
    const value = await runWheel(context, name, [], new Map<Value, Value>(Object.entries(kwargs)));
    return plain(decode(encode(value, "bin")));
  };

  it("lists ids by state, without regard to case, with the master's own files where Salt lists them", async () => {
    assert.deepEqual(await wheel("key.list_all"), {
      minions: ["es1", "Es2"],
      minions_pre: ["app1", "bad"],
      minions_rejected: ["old"],
      minions_denied: [],
      local: ["master.pub"],
    });
    assert.deepEqual(await wheel("key.list", { match: "un" }), { minions_pre: ["app1", "bad"] });
    assert.deepEqual(await wheel("key.list", { match: "bogus" }), {});
    assert.deepEqual(await wheel("key.name_match", { match: "es*,old" }), {
      minions: ["es1"],
      minions_rejected: ["old"],
    });
  });

  it("accepts usable keys, tells the bus, and answers with the new states", async () => {
    assert.deepEqual(await wheel("key.accept", { match: "*" }), {
      minions: ["app1", "es1", "Es2"],
      minions_pre: ["bad"],
      minions_rejected: ["old"],
    });
    assert.deepEqual(fired, [["salt/key", { result: true, act: "accept", id: "app1" }]]);
    const both = { match: "old", include_rejected: true };
    assert.deepEqual(await wheel("key.accept", both), { minions: ["old"] });
  });

  it("rejects and deletes, by glob or by a map of states", async () => {
    assert.deepEqual(await wheel("key.reject", { match: "es1" }), { minions: ["es1"] });
    assert.deepEqual(await wheel("key.reject", { match: "es1", include_accepted: true }), {
      minions_rejected: ["es1"],
    });
    const map = new Map<Value, Value>([["minions_pre", ["app1"]]]);
    assert.deepEqual(await wheel("key.reject_dict", { match: map }), { minions_rejected: ["app1"] });
    assert.deepEqual(
      await wheel("key.accept_dict", {
        match: new Map<Value, Value>([["minions_rejected", ["app1"]]]),
        include_rejected: true,
      }),
      {
        minions: ["app1"],
      },
    );
    assert.deepEqual(await wheel("key.delete_dict", { match: new Map<Value, Value>([["minions", ["app1"]]]) }), {});
    assert.deepEqual(await wheel("key.delete", { match: "*s*" }), {});
    assert.deepEqual(await wheel("key.name_match", { match: "*" }), {
      minions_pre: ["bad"],
      minions_rejected: ["old"],
    });
    await assert.rejects(wheel("key.delete_dict", { match: "es1" }), { code: "FUNCTION_ARGUMENTS" });
  });

  it("shows texts and fingerprints", async () => {
    const fingers = (await wheel("key.finger", { match: "es1,master*" })) as Record<string, Record<string, string>>;
    assert.match(fingers.minions?.es1 ?? "", /^([0-9a-f]{2}:){31}[0-9a-f]{2}$/);
    assert.equal(fingers.local?.["master.pub"], fingers.minions?.es1);
    assert.deepEqual(await wheel("key.finger_master"), { local: fingers.local });
    assert.deepEqual(await wheel("key.print", { match: "es1" }), { minions: { es1: publicPem } });
    assert.deepEqual(await wheel("key.master_key_str"), { local: { "master.pub": publicPem } });
  });

  it("makes pairs of keys, accepted on request, and replaces an accepted key only with force", async () => {
    const pair = (await wheel("key.gen_accept", { id_: "neo" })) as { priv: string; pub: string };
    assert.equal(readFileSync(join(pkiDir, "minions", "neo"), "utf8"), pair.pub);
    assert.match(pair.priv, /PRIVATE KEY/);
    assert.deepEqual(await wheel("key.gen_accept", { id_: "neo" }), {});
    assert.equal(readFileSync(join(pkiDir, "minions", "neo"), "utf8"), pair.pub);
    await assert.rejects(wheel("key.gen_accept", { id_: "../neo" }), { code: "FUNCTION_ARGUMENTS" });
    await assert.rejects(wheel("key.gen", { keysize: 65_536 }), { code: "FUNCTION_ARGUMENTS" });
  });
});

describe("wheel config", () => {
  const folder = mkdtempSync(join(tmpdir(), "swc-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const context = runnerContext({
    master: masterAccess({}),
    config: { configDir: folder, default_include: "master.d/*.conf", opts: new Map([["key_pass", "s3cret"]]) },
  });
  const update = (name: string, contents: Record<string, Value>) =>
    runWheel(context, "config.update_config", [name, new Map(Object.entries(contents))], new Map());
  const file = join(folder, "master.d", "own.conf");

  it("writes a file that the next start reads", async () => {
    assert.equal(await update("own", { timeout: 9, file_roots: new Map([["base", ["/srv"]]]) }), "Wrote own.conf");
    assert.equal(readFileSync(file, "utf8"), "timeout: 9\nfile_roots:\n  base:\n    - /srv\n");
  });

  it("takes the text of such a file too, and keeps it as it is", async () => {
    const write = (contents: Value) => runWheel(context, "config.update_config", ["text", contents], new Map());
    assert.equal(await write("# why\ntimeout: 7"), "Wrote text.conf");
    assert.equal(readFileSync(join(folder, "master.d", "text.conf"), "utf8"), "# why\ntimeout: 7\n");
    await assert.rejects(write("just words"), { code: "FUNCTION_ARGUMENTS" });
    await assert.rejects(write("a: [1"), /./);
    assert.equal(readFileSync(join(folder, "master.d", "text.conf"), "utf8"), "# why\ntimeout: 7\n");
    // Would otherwise come before the file of the next tests.
    rmSync(join(folder, "master.d", "text.conf"));
  });

  it("changes nothing if the master could not start with the file, or the name leads elsewhere", async () => {
    const before = readFileSync(file, "utf8");
    await assert.rejects(update("own", { timeout: "many" }), { code: "FUNCTION_FAILED", message: /timeout/ });
    assert.equal(readFileSync(file, "utf8"), before);
    await assert.rejects(update("new", { ret_port: "many" }), { code: "FUNCTION_FAILED" });
    assert.ok(!existsSync(join(folder, "master.d", "new.conf")));
    assert.equal(await update("../own", { timeout: 9 }), "Invalid path");
  });

  it("shows no secret, and never writes over the master's own file", async () => {
    assert.deepEqual(await runWheel(context, "config.values", [], new Map()), new Map([["key_pass", "**********"]]));
    await assert.rejects(runWheel(context, "config.apply", ["timeout", 5], new Map()), { code: "FUNCTION_FAILED" });
  });
});
