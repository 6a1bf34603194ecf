import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { dispatch } from "../../../src/cli/dispatch.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { FakeMaster } from "../../client/fake-master.ts";
import { TestHost } from "../test-host.ts";

const noMatch = "No minions matched the target. No command was sent, no jid was assigned.\n";

describe("saltworks salt and its target", () => {
  let master: FakeMaster;
  let matched: readonly string[] = [];
  let refusal: string | undefined;
  before(async () => {
    master = await FakeMaster.start({
      publish: () => ({
        enc: "clear",
        load: { jid: null, minions: [], error: "none", ...(refusal ? { refused: refusal } : {}) },
      }),
      wheel: (load) => wheelAnswer(load),
    });
    const groups = "nodegroups: {web: 'web* or N@es', es: [es1, es2], loop: 'N@loop'}\nconfirm_above: 3\n";
    appendFileSync(join(master.folder, "master"), groups);
  });
  after(() => master.stop());
  beforeEach(() => {
    master.requests.length = 0;
    matched = ["es1", "es2"];
    refusal = undefined;
  });

  function wheelAnswer(load: ValueMap): Encodable {
    const answer = (value: Encodable, success = true) => ({ tag: "", data: { return: value, success, jid: "" } });
    if (refusal !== undefined) return answer(refusal, false);
    if (load.get("fun") === "saltworks.explain_target") return answer({ matched: matched.length });
    return answer({ count: matched.length, ...(load.get("is_counted") ? {} : { minions: [...matched], missing: [] }) });
  }

  async function salt(host: TestHost, ...words: readonly string[]) {
    const rc = await dispatch(["salt", "-c", master.folder, ...words], host);
    return { rc, out: host.out, err: host.err };
  }
  const published = () => master.requests.filter((load) => load.get("cmd") === "publish");

  it("reports at once that no master runs", async () => {
    await master.closeBus();
    try {
      for (const option of ["--preview-target", "--explain"]) {
        const shown = await salt(new TestHost(), "es*", option);
        assert.deepEqual(shown, {
          rc: 0,
          out: "The salt master could not be contacted. Is master running?\n",
          err: "",
        });
      }
      assert.deepEqual(master.requests, []);
    } finally {
      await master.reopenBus();
    }
  });
  it("publishes what a nodegroup stands for", async () => {
    await salt(new TestHost(), "-N", "web", "test.ping");
    await salt(new TestHost(), "-C", "N@es and not es2", "test.ping");
    const sent = published().map((load) => [load.get("tgt"), load.get("tgt_type")]);
    assert.deepEqual(sent, [
      ["( web* or L@es1,es2 )", "compound"],
      ["L@es1,es2 and not es2", "compound"],
    ]);
  });
  it("names a group that is not there, and sends nothing", async () => {
    const shown = await salt(new TestHost(), "-N", "nosuch", "test.ping");
    assert.deepEqual(shown, { rc: 0, out: `Node group nosuch unavailable in ${master.folder}/master\n`, err: "" });
    const fixed = await salt(new TestHost(), "-C", "es1 or N@nosuch", "test.ping", "--static");
    assert.deepEqual(fixed, { rc: 1, out: "", err: `Node group nosuch unavailable in ${master.folder}/master\n` });
    assert.equal(published().length, 0);
  });
  it("matches no minion by a group that is part of itself", async () => {
    const { rc, out, err } = await salt(new TestHost(), "-N", "loop", "test.ping");
    assert.deepEqual([rc, out], [2, noMatch]);
    assert.match(err, /illegal nested nodegroup "loop"\nERROR: No return received\n$/);
  });
  it("shows why the master refuses a target", async () => {
    refusal = "target refused: more than 10000 words";
    const err = `ERROR: ${refusal}\n`;
    assert.deepEqual(await salt(new TestHost(), "-C", "a or b", "test.ping", "-y"), { rc: 2, out: noMatch, err });
    const preview = await salt(new TestHost(), "-C", "a or b", "--preview-target");
    assert.deepEqual(preview, { rc: 2, out: "", err: `${err}ERROR: No return received\n` });
  });

  it("previews and explains without a job", async () => {
    assert.deepEqual(await salt(new TestHost(), "--preview-target", "es*"), { rc: 0, out: "- es1\n- es2\n", err: "" });
    const explained = await salt(new TestHost(), "-N", "es", "--explain", "--out=json", "--out-indent=-1");
    assert.deepEqual(explained, { rc: 0, out: '{"matched": 2}\n', err: "" });
    assert.equal(master.requests.at(-1)?.get("tgt"), "L@es1,es2");
    matched = [];
    const none = await salt(new TestHost(), "--preview-target", "nosuch");
    assert.deepEqual(none, { rc: 2, out: "", err: "ERROR: No return received\n" });
    assert.equal(published().length, 0);
  });

  it("asks on a terminal before more minions than confirm_above get the job", async () => {
    matched = ["a", "b", "c", "d"];
    const typed = (answer: string) => Object.assign(new TestHost(answer), { isTerminal: true, isInputTerminal: true });
    const no = await salt(typed("n"), "*", "test.ping");
    assert.equal(no.rc, 1);
    assert.match(no.out, /4 minions match the target, and more than 3 need a confirmation.*\nProceed\? \[N\/y\] $/);
    assert.equal((await salt(typed(""), "*", "test.ping")).rc, 1);
    assert.equal(published().length, 0);
    await salt(typed("y"), "*", "test.ping");
    assert.equal(published().length, 1);
  });
  it("does not ask without a terminal, for few minions, or with --yes", async () => {
    matched = ["a", "b", "c", "d"];
    const piped = await salt(new TestHost("y"), "*", "test.ping");
    assert.deepEqual([piped.rc, piped.out], [64, ""]);
    assert.match(piped.err, /^ERROR: 4 minions match .* No command was sent: give --yes to send it\.\n$/);
    assert.equal(published().length, 0);
    await salt(new TestHost(), "*", "test.ping", "--yes");
    await salt(new TestHost(), "*", "test.ping", "--confirm-above", "4");
    await salt(new TestHost(), "*", "test.ping", "--confirm-above", "0");
    assert.equal(published().length, 3);
    matched = ["a", "b", "c"];
    await salt(new TestHost(), "*", "test.ping");
    assert.equal(published().length, 4);
  });
});
