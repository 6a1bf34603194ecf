import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { commandOutputBytesMax } from "../../../src/limits.ts";
import type { Value } from "../../../src/wire/values.ts";
import { openWorld, valueOfCall, type World } from "./world.ts";

const environment = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/",
  SHELL: "/bin/sh",
};
/** A loaded machine is slow to start a shell. */
const triesMax = 400;
const isRoot = process.getuid?.() === 0;

let root = "";
let world: World;
before(async () => {
  root = mkdtempSync(join(tmpdir(), "sw-cmd-"));
  world = await openWorld(root, { environment });
});
after(() => rmSync(root, { recursive: true }));

const run = (...words: readonly string[]) => valueOfCall(world, "cmd.run", ...words);

describe("cmd.run", () => {
  it("reports a missing command in the shell's words, with the shell's code", async () => {
    const { value, retcode } = await world.call(["cmd.run", "nosuchcmd"]);
    assert.match(String(value), /nosuchcmd: (command )?not found/);
    assert.equal(retcode, 127);
  });

  it("keeps 5 MB of output and every character of it", async () => {
    const text = String(await run("for i in $(seq 0 4999); do printf '%01000d' $i; done; printf 'grüße ✓ 日本'"));
    assert.equal(text.length, 5_000_000 + "grüße ✓ 日本".length);
    assert.ok(text.endsWith("04999grüße ✓ 日本"));
  });

  it("drops what a command writes beyond the limit, lets it end, and says so", async () => {
    const excess = 4_096;
    const { value, retcode } = await world.call([
      "cmd.run",
      `head -c ${commandOutputBytesMax + excess} /dev/zero; exit 4`,
    ]);
    const note = `\n[output cut: ${excess} bytes beyond the limit of ${commandOutputBytesMax} were dropped]`;
    assert.ok(String(value).endsWith(note));
    assert.equal(String(value).length, commandOutputBytesMax + note.length);
    assert.equal(retcode, 4);
  });

  it("ends every process of a command that takes too long", async () => {
    const mark = join(root, "survivor");
    const go = join(root, "go");
    const text = await run(`(while [ ! -e ${go} ]; do sleep 0.05; done; touch ${mark}) & sleep 30`, "timeout=0.2");
    assert.match(String(text), /: Timed out after 0\.2 seconds$/);
    writeFileSync(go, "");
    await delay(700);
    assert.equal(existsSync(mark), false);
  });

  it("returns at its deadline even if a process that left the group holds the pipe", async () => {
    const startMs = Date.now();
    const left = join(root, "left");
    await run(`setsid sh -c 'echo $$ > ${left}; exec sleep 120' & sleep 30`, "timeout=5");
    assert.ok(Date.now() - startMs < 25_000);
    process.kill(Number(readFileSync(left, "utf8")));
  });

  it("does not fail if a command leaves its input unread", async () => {
    assert.equal(await run("exec true", `stdin=${"x".repeat(300_000)}`), "");
  });

  it("writes both streams in the order of writing", async () => {
    assert.equal(
      await run("for i in 1 2 3; do echo out$i; echo err$i >&2; done"),
      "out1\nerr1\nout2\nerr2\nout3\nerr3",
    );
  });

  it("refuses unsupported options by name", async () => {
    await assert.rejects(run("ls", "use_vt=True"), /use_vt=True is not supported/);
  });

  it("logs a failing command by its first word, with all its output", async () => {
    world.logged.length = 0;
    await run("echo secret; exit 3");
    assert.deepEqual(
      world.logged.filter((line) => !line.startsWith("Executing")),
      [
        "Command 'echo' failed with return code: 3",
        "stdout: secret",
        "retcode: 3",
        "Command 'echo' failed with return code: 3",
        "output: secret",
      ],
    );
  });

  it("logs nothing of a quiet command", async () => {
    world.logged.length = 0;
    await run("echo secret; exit 3", "output_loglevel=quiet");
    assert.deepEqual(world.logged, []);
  });

  it("names neither variables nor input if a program cannot be started", async () => {
    const call = run("/nosuch/program", "python_shell=False", "env={PASSWORD: s3cret}", "stdin=s3cret");
    await assert.rejects(
      call,
      (error: Error) => !error.message.includes("s3cret") && /No such file/.test(error.message),
    );
  });
});

describe("the shell default", () => {
  const call = (some: World) => some.context.callFunction("cmd.run", ["echo $((1 + 1)); echo b"]);

  it("is the shell for a job, and no shell for a call from another function", async () => {
    assert.equal(await run("echo $((1 + 1)); echo b"), "2\nb");
    assert.equal(await call(world), "$((1 + 1)); echo b");
  });

  it("is the shell for every call with cmd_safe: False", async () => {
    const unsafe = await openWorld(join(root, "unsafe"), {
      environment,
      minion: `root_dir: ${root}\ncmd_safe: False\n`,
    });
    assert.equal(await call(unsafe), "2\nb");
  });

  it("runs through $SHELL if that is set", async () => {
    const other = join(root, "shell");
    writeFileSync(other, '#!/bin/sh\necho "other: $2"\n', { mode: 0o755 });
    const some = await openWorld(join(root, "other"), { environment: { ...environment, SHELL: other } });
    assert.equal(await valueOfCall(some, "cmd.run", "ls -l"), "other: ls -l");
  });
});

describe("commands that are not permitted", () => {
  it("are on cmd_blacklist_glob, or not on an existing cmd_whitelist_glob", async () => {
    const lists = "cmd_blacklist_glob: ['rm *']\ncmd_whitelist_glob: ['echo *', 'rm *']\n";
    const strict = await openWorld(join(root, "strict"), { environment, minion: `root_dir: ${root}\n${lists}` });
    assert.equal(await valueOfCall(strict, "cmd.run", "echo a"), "a");
    for (const command of ["rm -r x", "ls"]) {
      await assert.rejects(valueOfCall(strict, "cmd.run", command), {
        message: `The shell command "${command}" is not permitted`,
      });
    }
  });
});

describe("runas and group", { skip: isRoot ? false : "only root can become another user" }, () => {
  it("run as the user, with that user's groups, home and variables", async () => {
    assert.equal(await run("id -un; echo $USER $LOGNAME", "runas=nobody", "cwd=/"), "nobody\nnobody nobody");
    assert.equal(await run("id -un", "runas=nobody", "umask=027", "cwd=/"), "nobody");
    assert.equal(await run("umask; id -gn", "group=daemon", "umask=027", "cwd=/"), "0027\ndaemon");
  });

  it("let only the user read and run a script", async () => {
    const script = join(root, "as-user.sh");
    writeFileSync(script, "#!/bin/sh\nid -un\nstat -c '%U %a' \"$0\"\n");
    const result = (await valueOfCall(world, "cmd.script", script, "runas=nobody", "cwd=/")) as { stdout: string };
    assert.equal(result.stdout, "nobody\nnobody 500");
  });
});

describe("cmd.run_bg", () => {
  it("returns at once with the pid of a process that keeps running", async () => {
    const mark = join(root, "background");
    const command = `while [ ! -e ${mark}.go ]; do sleep 0.05; done; echo done > ${mark}.new; mv ${mark}.new ${mark}`;
    const { pid } = (await valueOfCall(world, "cmd.run_bg", command)) as { pid: number };
    assert.ok(pid > 1);
    assert.equal(existsSync(mark), false);
    writeFileSync(`${mark}.go`, "");
    for (let tries = 0; tries < triesMax && !existsSync(mark); tries += 1) await delay(50);
    assert.equal(readFileSync(mark, "utf8"), "done\n");
  });
});

describe("a script in the background", () => {
  it("outlives the call, and its file is removed when it ends", async () => {
    const script = join(root, "background.sh");
    const mark = join(root, "background-script");
    writeFileSync(script, '#!/bin/sh\nsleep 0.2\necho "$0" > "$1.new"\nmv "$1.new" "$1"\n');
    const result = (await valueOfCall(world, "cmd.script", script, `args=${mark}`, "bg=True")) as { pid: number };
    assert.ok(result.pid > 1);
    for (let tries = 0; tries < triesMax && !existsSync(mark); tries += 1) await delay(50);
    const path = readFileSync(mark, "utf8").trim();
    const folder = join(path, "..");
    for (let tries = 0; tries < triesMax && existsSync(folder); tries += 1) await delay(50);
    assert.equal(existsSync(folder), false);
  });
});

describe("cmd.script", () => {
  const text = '#!/bin/sh\necho "$# $1 grüße"\nexit 4\n';

  function masterWith(files: { readonly [path: string]: string }) {
    return (load: { readonly [name: string]: Value }): Value => {
      const content = Buffer.from(files[String(load.path)] ?? "");
      const chunk = content.subarray(Number(load.loc), Number(load.loc) + 10);
      const isThere = files[String(load.path)] !== undefined;
      return new Map<Value, Value>([
        ["data", chunk],
        ["dest", isThere ? String(load.path) : ""],
      ]);
    };
  }

  async function withMaster(files: { readonly [path: string]: string }): Promise<World> {
    return await openWorld(join(root, "scripts"), {
      environment,
      master: masterWith(files),
      minion: `root_dir: ${root}\n`,
    });
  }

  it("fetches the script from the master piece by piece, and runs it with its arguments", async () => {
    const some = await withMaster({ "scripts/check.sh": text });
    const { value, retcode } = await some.call(["cmd.script", "salt://scripts/check.sh", "args='a b' c"]);
    assert.equal((value as { stdout: string }).stdout, "2 a b grüße");
    assert.equal(retcode, 4);
    assert.deepEqual(
      some.asked[0],
      new Map<Value, Value>([
        ["cmd", "_serve_file"],
        ["path", "scripts/check.sh"],
        ["saltenv", "base"],
        ["loc", 0],
      ]),
    );
    assert.ok(some.asked.length > 3);
  });

  it("asks in the environment of the name", async () => {
    const some = await withMaster({ "check.sh": text });
    await some.call(["cmd.script_retcode", "salt://check.sh?saltenv=dev", "saltenv=qa"]);
    assert.equal(some.asked[0]?.get("saltenv"), "dev");
  });

  it("says cache_error if the master does not have the file", async () => {
    const { value, retcode } = await (await withMaster({})).call(["cmd.script", "salt://nope.sh"]);
    assert.deepEqual(value, { pid: 0, retcode: 1, stdout: "", stderr: "", cache_error: true });
    assert.equal(retcode, 0);
  });

  it("renders a script for script_retcode, as Salt does by default, and runs it as it is for script", async () => {
    const some = await withMaster({
      "broken.sh": "#!/bin/sh\n# {{ 1 + }}\nexit 3\n",
      "sum.sh": "#!/bin/sh\nexit {{ 1 + 1 }}\n",
    });
    assert.equal(await valueOfCall(some, "cmd.script_retcode", "salt://sum.sh"), 2);
    assert.equal(((await valueOfCall(some, "cmd.script", "salt://broken.sh")) as { retcode: number }).retcode, 3);
    await assert.rejects(valueOfCall(some, "cmd.script_retcode", "salt://broken.sh"), /Jinja syntax error.*line 2/);
  });
});
