import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Completion, complete, type Names } from "../../src/cli/completion/candidates.ts";
import { completionScripts } from "../../src/cli/completion/scripts.ts";
import { commands } from "../../src/cli/options/parse.ts";

const names: Names = {
  minionIds: (words, states) => (words.includes("nowhere") ? [] : states.map((state) => `${state}1`).concat("web1")),
  nodegroups: () => ["ELK", "WEB"],
  executionFunctions: () => ["test.echo", "test.ping", "cmd.run"],
  runnerFunctions: () => ["jobs.active", "manage.up"],
};

function words(...line: string[]): readonly string[] | string {
  const completion: Completion = complete(line, names);
  return typeof completion === "string" ? completion : completion.map(({ word }) => word);
}

describe("completion", () => {
  it("offers the commands", () => {
    assert.deepEqual(words("k"), ["key"]);
    assert.deepEqual(words("c"), ["call", "cp", "cluster", "check", "check-store", "completion"]);
    assert.deepEqual(words("cluster", "s"), ["secret", "status"]);
    assert.deepEqual(words("cluster", ""), ["init", "join", "leave", "check", "permissions", "secret", "status"]);
    assert.deepEqual(words("cluster", "join", "--p"), ["--peers="]);
    assert.ok(words("").includes("salt"));
    assert.deepEqual(words("nosuch", ""), []);
  });

  for (const [name, table] of Object.entries(commands)) {
    it(`offers every option of ${name}, long ones with = where a value follows`, () => {
      const offered = words(name, "-");
      for (const option of table.groups.flatMap((group) => Object.values(group.options))) {
        for (const given of option.names) {
          const wanted = given.startsWith("--") && option.kind !== "flag" ? `${given}=` : given;
          assert.ok(offered.includes(wanted), wanted);
        }
      }
    });
  }

  it("offers values of options, behind = and as words of their own", () => {
    assert.deepEqual(words("key", "--out=js"), ["--out=json"]);
    assert.deepEqual(words("key", "--out", "js"), ["json"]);
    assert.deepEqual(words("key", "-l", "un"), ["unaccepted"]);
    assert.deepEqual(words("salt", "-l", "in"), ["info"]);
    assert.deepEqual(words("key", "--rotate-aes-key="), ["--rotate-aes-key=True", "--rotate-aes-key=False"]);
    assert.equal(words("salt", "--out-file="), "files");
    assert.equal(words("run", "-c", "/etc"), "directories");
    assert.deepEqual(words("key", "--yes="), []);
  });

  it("offers ids of the keys that an action is for", () => {
    assert.deepEqual(words("key", "-a", ""), ["pending1", "web1"]);
    assert.deepEqual(words("key", "--delete=re"), ["--delete=rejected1"]);
    assert.deepEqual(words("salt", "w"), ["web1"]);
    assert.deepEqual(words("salt", "-L", "web1,acc"), ["web1,accepted1"]);
    assert.deepEqual(words("salt", "-c", "nowhere", "w"), []);
    assert.deepEqual(words("salt", "'w"), ["web1"]);
    assert.deepEqual(words("salt", "-N", "E"), ["ELK"]);
    assert.deepEqual(words("salt", "-G", "w"), []);
  });

  it("offers functions where one stands", () => {
    assert.deepEqual(words("salt", "-t", "5", "web1", "test."), ["test.echo", "test.ping"]);
    assert.deepEqual(words("salt", "web1", "test.ping,cmd"), ["test.ping,cmd.run"]);
    assert.deepEqual(words("salt", "web1", "test.ping", ""), []);
    assert.deepEqual(words("call", "--local", "cmd"), ["cmd.run"]);
    assert.deepEqual(words("run", "m"), ["manage.up"]);
    assert.deepEqual(words("run", "--", "--out"), []);
    assert.equal(words("cp", "web1", ""), "files");
    assert.deepEqual(words("completion", ""), ["bash", "zsh", "fish"]);
  });
});

/** The shell's output after the words to complete. */
function run(shell: string, folder: string, script: string): string[] {
  const environment = {
    ...process.env,
    PATH: `${folder}/bin:${process.env.PATH}`,
    HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  const done = spawnSync(shell, [join(folder, script)], { encoding: "utf8", env: environment, timeout: 120_000 });
  assert.equal(done.stderr, "");
  assert.equal(done.status, 0);
  return done.stdout.split("\n").filter((line) => line !== "");
}

function isMissing(shell: string): string | false {
  const isThere = spawnSync(shell, ["-c", "true"]).status === 0;
  return isThere || (shell === "bash" && process.env.CI !== undefined) ? false : `${shell} is not installed`;
}

describe("the scripts in the shells themselves", () => {
  const folder = mkdtempSync(join(tmpdir(), "saltworks-shells-"));

  before(() => {
    const cli = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));
    for (const directory of ["bin", "pki/minions", "files/sub"])
      mkdirSync(join(folder, directory), { recursive: true });
    writeFileSync(join(folder, "bin/saltworks"), `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n`);
    chmodSync(join(folder, "bin/saltworks"), 0o755);
    writeFileSync(join(folder, "master"), `pki_dir: ${folder}/pki\ncachedir: ${folder}/cache\n`);
    for (const id of ["web1", "web2"]) writeFileSync(join(folder, "pki/minions", id), "");
    for (const [shell, script] of Object.entries(completionScripts))
      writeFileSync(join(folder, `completion.${shell}`), script);
  });
  after(() => rmSync(folder, { recursive: true }));

  it("bash", { skip: isMissing("bash") }, () => {
    const lines = [
      `source ${folder}/completion.bash`,
      // Outside of an interactive line, bash has no completion options to change.
      "compopt() { :; }",
      `try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _saltworks saltworks; printf "%s " "\${COMPREPLY[@]}"; echo; }`,
      "try saltworks ke",
      "try saltworks key --out = js",
      `try saltworks salt -c ${folder} w`,
      `try saltworks key --gen-keys-dir = ${folder}/fi`,
      `try saltworks cp web1 ${folder}/files/`,
      "complete -p saltworks",
    ];
    writeFileSync(join(folder, "try.bash"), `${lines.join("\n")}\n`);
    const shown = run("bash", folder, "try.bash");
    assert.deepEqual(shown, [
      "key ",
      "json ",
      "web1 web2 ",
      `${folder}/files `,
      `${folder}/files/sub `,
      "complete -F _saltworks saltworks",
    ]);
  });

  it("fish", { skip: isMissing("fish") }, () => {
    const lines = [
      `source ${folder}/completion.fish`,
      'complete -C "saltworks ke"',
      'complete -C "saltworks key --out=js"',
      `complete -C "saltworks salt -c ${folder} w"`,
    ];
    writeFileSync(join(folder, "try.fish"), `${lines.join("\n")}\n`);
    const shown = run("fish", folder, "try.fish");
    assert.deepEqual(
      shown.map((line) => line.split("\t")[0]),
      ["key", "--out=json", "web1", "web2"],
    );
    assert.match(shown[0] ?? "", /^key\tList, accept, reject and delete/);
  });

  it("zsh", { skip: isMissing("zsh") }, () => {
    const lines = [
      `source ${folder}/completion.zsh`,
      // Stubs of zsh's own functions that print the candidates.
      `_describe() { print -r -- "\${(@P)4}" }`,
      `compadd() { print -r -- "\${@[-1]}" }`,
      "compset() { : }",
      '_files() { print -r -- "files $*" }',
      'try() { words=("$@"); CURRENT=$#; _saltworks }',
      "try saltworks ke",
      "try saltworks key --out=js",
      "try saltworks key --gen-keys-d",
      `try saltworks salt -c ${folder} w`,
      "try saltworks run -c /",
    ];
    writeFileSync(join(folder, "try.zsh"), `${lines.join("\n")}\n`);
    assert.deepEqual(run("zsh", folder, "try.zsh"), [
      "key:List, accept, reject and delete minions' keys, as salt-key does.",
      "--out=json:",
      "--gen-keys-dir=",
      "web1: web2:",
      "files -/",
    ]);
  });
});
