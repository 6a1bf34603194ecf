/** The renderer `gpg` and `decrypt_pillar` with a real gpg, and with programs in its place that hang or write without end. */
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import { gpgOutputBytesMax } from "../../../src/limits.ts";
import { type CompiledPillar, PillarCompiler, type PillarRequest } from "../../../src/pillar/compile.ts";
import { GpgMessages } from "../../../src/pillar/gpg/messages.ts";
import type { Value } from "../../../src/wire/values.ts";
import { plainJson } from "../../plain.ts";
import { skipWithout } from "../../services/service.ts";
import { processEnded } from "../process-end.ts";
import { settingsOf, valueFrom, writeBelow } from "../rendering.ts";
import { block, Keyring } from "./keyring.ts";

const skip = skipWithout("gpg", "gpgconf");
const hidden = "Rendering SLS 'a' failed. Please see master log for details.";

describe("pillars with messages for gpg", { skip }, () => {
  let keys: Keyring;
  let others: Keyring;
  let root = "";
  before(() => {
    keys = new Keyring();
    others = new Keyring();
  });
  after(() => {
    keys?.remove();
    others?.remove();
  });
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "pillar-"));
    writeBelow(root, "top.sls", "base: {'*': [a]}\n");
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const compilerOf = (options: Overrides = {}) =>
    new PillarCompiler(settingsOf({ pillar_roots: { base: [root] }, gpg_keydir: keys.directory, ...options }));
  const compiled = (
    text: string,
    options: Overrides = {},
    asked: Partial<PillarRequest> = {},
    compiler = compilerOf(options),
  ): CompiledPillar => {
    writeBelow(root, "a.sls", text);
    const minion = { id: "web1", grains: new Map<Value, Value>([["id", "web1"]]) };
    return compiler.compile({ minion, saltenv: undefined, pillarenv: undefined, override: new Map(), ...asked });
  };

  it("have their content in texts, lists and maps, without the line breaks at its end", () => {
    const secret = keys.encrypt("se: cret\n\n");
    const { pillar, faults } = compiled(
      `#!jinja|yaml|gpg\na: ${block(secret, 2)}b:\n  - {n: 1}\n  - ${block(secret, 6)}` +
        `c: "<${secret.replaceAll("\n", "\\\\n")}|${secret.replaceAll("\n", "\\n")}>"\nd: {e: {f: plain}}\n`,
    );
    assert.deepEqual(faults, []);
    assert.deepEqual(plainJson(pillar), {
      a: "se: cret",
      b: [{ n: 1 }, "se: cret"],
      c: "<se: cret\n\n|se: cret\n\n>",
      d: { e: { f: "plain" } },
    });
  });

  it("are decrypted by the option renderer, and before YAML reads the text", () => {
    const { pillar } = compiled(`a: ${block(keys.encrypt("1"), 2)}`, { renderer: "jinja|yaml|gpg" });
    assert.equal(pillar.get("a"), "1");
    assert.deepEqual(plainJson(compiled(`#!gpg|yaml\n${keys.encrypt("a: {b: [1, 2]}")}\n`).pillar), {
      a: { b: [1, 2] },
    });
  });

  it("have bytes where the content is not UTF-8", () => {
    const { pillar } = compiled(`#!yaml|gpg\na: ${block(keys.encrypt(Buffer.from([0xff, 0, 0xfe])), 2)}`);
    assert.deepEqual(pillar.get("a"), new Uint8Array([0xff, 0, 0xfe]));
  });

  it("that gpg cannot decrypt are errors that show no message, or stay as they are", () => {
    const foreign = others.encrypt("x");
    const text = `#!yaml|gpg\na: ${block(foreign, 2)}b: 1\n`;
    const failed = compiled(text);
    assert.deepEqual(failed.pillar, new Map([["_errors", [hidden]]]));
    assert.match(failed.faults.join(), /gpg could not decrypt a message: NO_SECKEY [0-9A-F]+, DECRYPTION_FAILED/);
    assert.ok(!failed.faults.join().includes("BEGIN PGP"));
    const kept = compiled(text, { gpg_decrypt_must_succeed: false });
    assert.deepEqual(plainJson(kept.pillar), { a: foreign, b: 1 });
    assert.match(kept.faults.join(), /DECRYPTION_FAILED; it stays as it is/);
    assert.match(compiled(text, { gpg_keydir: join(root, "none") }).faults.join(), /gpg could not decrypt a message/);
  });

  it("that were changed on their way are errors", () => {
    const secret = keys.encrypt("a".repeat(4_000));
    const lines = secret.split("\n");
    lines.splice(-6, 1);
    const { pillar } = compiled(`#!yaml|gpg\na: ${block(lines.join("\n"), 2)}`);
    assert.deepEqual(pillar.get("_errors"), [hidden]);
  });

  it("come from gpg again unless gpg_cache is set", () => {
    const text = `#!yaml|gpg\na: ${block(keys.encrypt("1"), 2)}`;
    for (const [gpg_cache, isFound] of [
      [true, true],
      [false, false],
    ] as const) {
      const settings = settingsOf({ pillar_roots: { base: [root] }, gpg_keydir: keys.directory, gpg_cache });
      const gpg = { ...settings.gpg };
      const compiler = new PillarCompiler({ ...settings, gpg });
      assert.equal(compiled(text, {}, {}, compiler).pillar.get("a"), "1");
      gpg.keyDirectory = others.directory;
      assert.equal(compiled(text, {}, {}, compiler).pillar.get("a"), isFound ? "1" : undefined);
    }
  });

  it("have what decrypt_pillar names decrypted last, also from external sources, and nothing else", () => {
    const secret = keys.encrypt("1");
    const base = `a: ${block(secret, 2)}b: {c: ${JSON.stringify(secret)}, d: [${JSON.stringify(secret)}]}\n`;
    assert.deepEqual(plainJson(compiled(base, { decrypt_pillar: ["b", "no:such"] }).pillar), {
      a: `${secret}\n`,
      b: { c: "1", d: ["1"] },
    });
    const other = { decrypt_pillar: [{ "b/c": "gpg" }, "a"], decrypt_pillar_delimiter: "/" };
    assert.deepEqual(plainJson(compiled(base, other).pillar), { a: "1", b: { c: "1", d: [secret] } });
    writeBelow(root, "tree/hosts/web1/key", `<${keys.encrypt("größe")}>\n`);
    const { pillar } = compiled("x: 1\n", {
      ext_pillar: [{ file_tree: { root_dir: join(root, "tree") } }],
      decrypt_pillar: { key: null },
    });
    assert.deepEqual(plainJson(pillar), { x: 1, key: "<größe>" });
  });

  it("have Salt's errors of decrypt_pillar, each beside the values of other paths", () => {
    const text = `a: ${block(others.encrypt("x"), 2)}b: ${block(keys.encrypt("1"), 2)}`;
    const { pillar, faults } = compiled(text, { decrypt_pillar: ["a", "b"] });
    assert.equal(pillar.get("b"), "1");
    assert.match(
      String(pillar.get("_errors")),
      /^Failed to decrypt pillar key 'a': gpg could not decrypt a message: NO/,
    );
    assert.equal(faults.length, 1);
    const refused = compiled(text, { decrypt_pillar: ["b"], decrypt_pillar_renderers: ["nacl"] });
    assert.deepEqual(refused.pillar.get("_errors"), [
      "Failed to decrypt pillar key 'b': 'gpg' is not a valid decryption renderer. Valid choices are: nacl",
    ]);
    assert.deepEqual(compiled("x: 1\n", { decrypt_pillar: "b" }).pillar.get("_errors"), [
      "decrypt_pillar config option is malformed",
    ]);
  });

  it("never decrypt what the minion sent", () => {
    const secret = keys.encrypt("of another minion");
    const grains = valueFrom({ id: "web1", stolen: secret }) as Map<Value, Value>;
    const asked = {
      minion: { id: "web1", grains },
      override: valueFrom({ b: { given: secret } }) as Map<Value, Value>,
    };
    const own = JSON.stringify(keys.encrypt("1"));
    const text = `#!jinja|yaml|gpg\na: {{ grains.stolen|yaml_dquote }}\nb: {own: ${own}}\n`;
    const { pillar } = compiled(text, { decrypt_pillar: ["b"] }, asked);
    assert.deepEqual(plainJson(pillar), { a: secret, b: { own: "1", given: secret } });
  });
});

describe("a program in place of gpg", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "gpg-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const program = (script: string) => {
    const path = join(root, "gpg");
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o700);
    return path;
  };
  const settings = { keyDirectory: "/", keptMs: 0, mustSucceed: true };

  it("ends at the deadline with its children", async () => {
    const path = program(`sleep 600 & echo $! > ${root}/child; wait`);
    assert.throws(() => new GpgMessages(settings, path, 5_000).decrypt("x"), {
      code: "PILLAR_FAILED",
      message: "gpg took longer than 5 seconds",
    });
    await processEnded(Number(readFileSync(join(root, "child"), "utf8")));
  });

  it("writes no more than its bound", () => {
    const endless = new GpgMessages(settings, program("cat /dev/zero"));
    assert.throws(() => endless.decrypt("x"), { message: `gpg wrote more than ${gpgOutputBytesMax} bytes` });
  });

  it("that is missing is an error", () => {
    assert.throws(() => new GpgMessages(settings, join(root, "none")).decrypt("x"), /GPG unavailable/);
  });

  it("gets no message that is too large", () => {
    const told = new GpgMessages(settings, program(`touch ${root}/ran`));
    assert.throws(() => told.decrypt("x".repeat(5 * 1024 * 1024)), /a message is larger/);
    assert.throws(() => readFileSync(join(root, "ran")), /ENOENT/);
  });
});
