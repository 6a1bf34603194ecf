import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import type { ValueMap } from "../../src/wire/values.ts";
import { FakeMaster } from "../client/fake-master.ts";
import { TestHost } from "./test-host.ts";

function shown(host: TestHost, text: string): Promise<void> {
  return new Promise((resolve) => {
    const look = (out: string) => {
      if (out.includes(text)) resolve();
    };
    host.onWrite(look);
    look(host.out);
  });
}

/** Functions that print before their result, and runner functions of the command line itself. */
describe("saltworks run, live", () => {
  let master: FakeMaster;
  let onRunner: (load: ValueMap) => { readonly value: unknown; readonly told: number };
  const start = (...argv: string[]) => {
    const host = new TestHost();
    const ended = dispatch(["run", "-c", master.folder, ...argv], host);
    return { host, ended };
  };

  beforeEach(async () => {
    master = await FakeMaster.start({
      runner: (load) => {
        const { value, told } = onRunner(load);
        return { tag: "salt/run/j", data: { jid: "j", return: value as string, success: true, told } };
      },
    });
  });
  afterEach(() => master.stop());

  it("shows what the function prints and its progress, of its own call only, before the result", async () => {
    onRunner = (load) => {
      const jid = String(load.get("__jid__"));
      assert.match(jid, /^\d{20}$/);
      master.fire("saltworks/run/20260101000000000000/print", { text: "of another call\n" });
      master.fire(`saltworks/run/${jid}/print`, { text: "printed\n" });
      master.fire(`salt/run/${jid}/progress`, { message: "half done" });
      master.fire(`salt/run/${jid}/ret`, { return: "not progress" });
      return { value: "the result", told: 2 };
    };
    const { host, ended } = start("test.stream");
    assert.equal(await ended, 0);
    const shown = host.out.replace(/\d{4}-\d\d-\d\dT[\d:.]+/, "<stamp>").replace(/ {4}_stamp:\n {8}<stamp>\n/, "");
    const progress = "event:\n    ----------\n    message:\n        half done\nsuffix:\n    progress\n";
    assert.equal(shown, `printed\n${progress}the result\n`);
  });

  it("waits for what was said even if the result overtakes it", async () => {
    onRunner = (load) => {
      const jid = String(load.get("__jid__"));
      setImmediate(() => setImmediate(() => master.fire(`saltworks/run/${jid}/print`, { text: "late\n" })));
      return { value: "the result", told: 1 };
    };
    const { host, ended } = start("test.stdout_print");
    await ended;
    assert.equal(host.out, "late\nthe result\n");
  });

  it("state.event shows matching events as tag and JSON until it has seen enough", async () => {
    const { host, ended } = start("state.event", "my/*", "count=2", "pretty=True");
    const firing = setInterval(() => {
      master.fire("other/tag", { a: 0 });
      master.fire("my/tag", { b: [1], a: { z: null } });
    }, 50);
    assert.equal(await ended, 0);
    clearInterval(firing);
    const event = 'my/tag\t{\n    "a": {\n        "z": null\n    },\n    "b": [\n        1\n    ]\n}\n';
    assert.equal(host.out, `${event}${event}None\n`);
  });

  it("state.event takes a regular expression, too, prints one line each, and nothing when quiet", async () => {
    const firing = setInterval(() => master.fire("my/tag", { b: 1, a: "x" }), 50);
    const { host, ended } = start("state.event", "my/(tag|other)", "count=1");
    await ended;
    assert.equal(host.out, 'my/tag\t{"b": 1, "a": "x"}\nNone\n');
    const quiet = start("state.event", "count=1", "quiet=True");
    await quiet.ended;
    clearInterval(firing);
    assert.equal(quiet.host.out, "None\n");
  });

  it("state.event ends with Ctrl-C, and shows no result then", async () => {
    const firing = setInterval(() => master.fire("my/tag", { a: 1 }), 50);
    const { host, ended } = start("state.event");
    await shown(host, "my/tag");
    clearInterval(firing);
    host.interrupt();
    assert.equal(await ended, 130);
    assert.ok(!host.out.includes("None"));
  });

  it("state.event goes on when the master comes back", async () => {
    const { host, ended } = start("state.event", "count=2");
    const firing = setInterval(() => master.fire("my/tag", { a: 1 }), 50);
    await shown(host, "my/tag");
    await master.reopenBus();
    assert.equal(await ended, 0);
    clearInterval(firing);
    assert.equal(host.out.match(/my\/tag/g)?.length, 2);
  });

  it("reports that no master runs, and explains wrong arguments", async () => {
    await master.closeBus();
    const { host, ended } = start("state.event", "count=1");
    assert.equal(await ended, 1);
    assert.match(host.out, /^Exception occurred in runner state\.event: The salt master could not be contacted/);
    const wrong = start("salt.cmd");
    assert.equal(await wrong.ended, 0);
    assert.match(wrong.host.out, /Passed invalid arguments: cmd\(\) missing 1 required positional argument: 'fun'/);
  });

  it("salt.cmd runs an execution function in this process, as another function would call it", async () => {
    const echoed = start("salt.cmd", "test.arg", "a", "x=1", "--out=json");
    assert.equal(await echoed.ended, 0);
    assert.deepEqual(JSON.parse(echoed.host.out), { args: ["a"], kwargs: { x: 1 } });
    const failed = start("salt.cmd", "cmd.run", "exit 3");
    assert.equal(await failed.ended, 1);
    assert.match(
      failed.host.out,
      /^Exception occurred in runner salt\.cmd: Traceback .*No such file or directory: 'exit'/s,
    );
    const unknown = start("salt.cmd", "no.such");
    assert.equal(await unknown.ended, 0);
    assert.equal(unknown.host.out, "'no.such' is not available.\n");
  });
});
