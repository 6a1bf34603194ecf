/** A returner in the site's own Python as job cache: what it gets and gives under a master of Salt 3007 and under ours, and its faults. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Operator } from "../operator.ts";
import { openReleases, type SaltRelease } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, TestBed } from "../test-bed.ts";

const { all: releases, skip } = await openReleases();
const release = releases.find(({ name }) => name === "3007") as SaltRelease;
const timeoutMs = 60_000;

/** Keeps jobs in a directory. `FOLDER/down` stands for a server that is away once there are as many files as it says. */
const returner = (folder: string) => `
import json, os

FOLDER = ${JSON.stringify(folder)}

def _put(name, value):
    try:
        with open(os.path.join(FOLDER, "down")) as file:
            if len(os.listdir(FOLDER)) >= int(file.read()):
                raise OSError("the server is away")
    except FileNotFoundError:
        pass
    if value.get("fun") == "test.arg_repr":
        raise SystemExit("not this one") if "id" in value else ValueError("not this one")
    with open(os.path.join(FOLDER, name), "a") as file:
        file.write(json.dumps(value, sort_keys=True, default=str) + "\\n")

def _get(name):
    try:
        with open(os.path.join(FOLDER, name)) as file:
            return json.loads(file.readline())
    except FileNotFoundError:
        return None

def prep_jid(nocache=False, passed_jid=None):
    import salt.utils.jid
    return passed_jid if passed_jid is not None else salt.utils.jid.gen_jid(__opts__)

def save_load(jid, load, minions=None):
    _put(jid + ".load", dict(load, expected=minions, kernel=__grains__["kernel"]))

def save_minions(jid, minions, syndic_id=None):
    pass

def returner(ret):
    _put(ret["jid"] + ".return." + ret["id"], ret)

def get_load(jid):
    return _get(jid + ".load") or {}

def get_jid(jid):
    start = jid + ".return."
    names = sorted(name for name in os.listdir(FOLDER) if name.startswith(start))
    members = ("return", "retcode", "success")
    return {name[len(start):]: {key: value for key, value in _get(name).items() if key in members} for name in names}

def get_jids():
    import salt.utils.jid
    jids = [name[:-5] for name in os.listdir(FOLDER) if name.endswith(".load")]
    return {jid: salt.utils.jid.format_jid_instance(jid, get_load(jid)) for jid in jids}

def clean_old_jobs():
    with open(os.path.join(FOLDER, "cleaned"), "w"):
        pass
`;

type Site = { readonly folder: string; readonly master: MasterUnderTest; readonly operator: Operator };

/** A master with one stock minion. */
async function siteUnder(bed: TestBed, maker: Maker, name: string, more: object = {}): Promise<Site> {
  const folder = join(bed.folder, name, "jobs");
  const modules = join(bed.folder, name, "modules");
  for (const path of [folder, join(modules, "returners")]) mkdirSync(path, { recursive: true });
  writeFileSync(join(modules, "returners", "site_jobs.py"), returner(folder));
  const options = {
    ...{ extension_modules: modules, salt_python: release.program("python"), auto_accept: true, timeout: 15 },
    ...{ master_job_cache: "site_jobs", loop_interval: 1, ...more },
  };
  const master = await MasterUnderTest.create(bed, maker, options, name);
  await master.start();
  const watch = await bed.watchEvents(master.sockDir);
  new MinionUnderTest(master, release, "stock", { returner_dirs: [join(modules, "returners")] }, name);
  await watch.until("start of stock", ({ tag }) => tag === "salt/minion/stock/start", timeoutMs);
  return { folder, master, operator: new Operator(maker, master) };
}

function linesOf(folder: string, ending: RegExp): Readonly<Record<string, unknown>>[] {
  const names = readdirSync(folder).filter((name) => ending.test(name));
  return names.flatMap((name) =>
    readFileSync(join(folder, name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  );
}

async function until(what: string, isSo: () => boolean): Promise<void> {
  for (const endMs = performance.now() + timeoutMs; !isSo(); await delay(50))
    assert.ok(performance.now() < endMs, `${what}: not in time`);
}

const returnsOf = (folder: string, fun: string) => linesOf(folder, /\.return\./).filter((one) => one.fun === fun);

/** What the returner got of the functions, without what differs from run to run. */
function gotOf(folder: string, functions: readonly string[]): unknown {
  const varying = new Set(["jid", "_stamp", "user", "nonce", "tok", "ts"]);
  return functions.map((fun) => {
    const bare = (row: Readonly<Record<string, unknown>>): unknown => {
      const same = Object.entries(row).filter(([name]) => !varying.has(name));
      return JSON.parse(JSON.stringify(Object.fromEntries(same)).replace(/\d{20}/g, "JID"));
    };
    const of = (ending: RegExp) => linesOf(folder, ending).filter((row) => row.fun === fun);
    // Salt saves each return as a load, too.
    const loads = of(/\.load$/).filter(({ cmd }) => cmd !== "_return");
    return { fun, loads: loads.map(bare), returns: of(/\.return\./).map(bare) };
  });
}

/** A job that is in the returner only. */
const oldJid = "20240102030405060708";
function putOldJob(folder: string): void {
  const load = { jid: oldJid, fun: "cmd.run", arg: ["df"], tgt: "stock", tgt_type: "list", user: "ann", ret: "" };
  writeFileSync(join(folder, `${oldJid}.load`), `${JSON.stringify(load)}\n`);
  for (const [id, value] of [
    ["stock", "full"],
    ["web2", ["a", { b: 1 }]],
  ] as const) {
    const all = { id, jid: oldJid, fun: "cmd.run", return: value, retcode: 0, success: true };
    writeFileSync(join(folder, `${oldJid}.return.${id}`), `${JSON.stringify(all)}\n`);
  }
}

const questions: readonly (readonly string[])[] = [
  ["jobs.lookup_jid", oldJid],
  ["jobs.print_job", oldJid],
  ["jobs.list_job", oldJid],
  ["jobs.exit_success", oldJid],
  ["jobs.lookup_jid", oldJid, "ext_source=site_jobs"],
  ["jobs.list_jobs", "search_function=cmd.run"],
  ["jobs.list_jobs", "ext_source=site_jobs", "search_function=cmd.*", "search_target=stock"],
  ["jobs.lookup_jid", "20240102030405060709"],
];

async function toldUnder(bed: TestBed, maker: Maker, name: string): Promise<unknown> {
  const { folder, operator } = await siteUnder(bed, maker, name);
  const functions = ["test.ping", "test.arg", "cmd.retcode"];
  await operator.job("stock", ["test.ping"]);
  await operator.job("stock", ["test.arg", "a", "b=1", "c=grüße"]);
  await operator.job("stock", ["cmd.retcode", "exit 3"]);
  await until("the jobs are written", () => functions.every((fun) => returnsOf(folder, fun).length > 0));
  const got = gotOf(folder, functions);
  for (const file of readdirSync(folder)) rmSync(join(folder, file));
  putOldJob(folder);
  const answers = [];
  for (const words of questions) {
    const { stdout, code } = await operator.run("run", ["--out=json", ...words], { isProcess: true });
    answers.push({ words, text: stdout.toString(), code });
  }
  await until("the returner's own cleaning", () => readdirSync(folder).includes("cleaned"));
  return { got, answers };
}

describe("a returner in Python as job cache", { skip }, () => {
  const bed = new TestBed();
  after(() => bed.close());

  bed.it("gets and gives what it does under Salt 3007", async () => {
    const salts = await toldUnder(bed, release, "salts");
    assert.deepEqual(await toldUnder(bed, "ours", "ours"), salts);
  });

  bed.it("gets each job and return once, whatever fails, and no row that it does not like", async () => {
    const { folder, master, operator } = await siteUnder(bed, "ours", "faults");
    writeFileSync(join(folder, "down"), "0");
    const refused = await operator.job("stock", ["test.arg_repr", "poison"]);
    for (const word of ["one", "two"]) await operator.job("stock", ["test.arg", word]);
    const status = async () =>
      (await operator.json("run", ["jobs.cache_status"])) as {
        readonly State: string;
        readonly Reason?: string;
        readonly Counts: Readonly<Record<string, number>>;
      };
    const untilDown = async () => {
      for (;;) {
        const { State: state, Reason: reason } = await status();
        if (state === "failing") return assert.match(reason ?? "", /site_jobs in .*: OSError: the server is away/);
        await delay(100);
      }
    };
    await untilDown();
    await master.program.kill();
    await master.start();
    rmSync(join(folder, "down"));
    await until("both jobs are written", () => returnsOf(folder, "test.arg").length >= 2);
    // The minion comes back by itself. Until then a text says that it did not return.
    let later = await operator.job("stock", ["test.arg", "three"]);
    while (typeof later.value !== "object") later = await operator.job("stock", ["test.arg", "three"]);
    await until("the later job is written", () => linesOf(folder, /\.return\./).some(({ jid }) => jid === later.jid));
    // Away again in the middle of what waits: what was not written then is not refused.
    writeFileSync(join(folder, "down"), String(readdirSync(folder).length + 3));
    for (const word of ["four", "five", "six"]) await operator.job("stock", ["test.arg", word]);
    await untilDown();
    rmSync(join(folder, "down"));
    await until("all jobs are written", () => returnsOf(folder, "test.arg").length >= 6);
    const words = returnsOf(folder, "test.arg").map((row) => JSON.stringify(row.fun_args));
    assert.deepEqual(words.sort(), ['["five"]', '["four"]', '["one"]', '["six"]', '["three"]', '["two"]']);
    assert.deepEqual(returnsOf(folder, "test.arg_repr"), []);
    assert.equal((await status()).Counts.refused, 2, "the load and the return of the poisonous job");
    const { stdout } = await operator.run("run", ["jobs.lookup_jid", refused.jid]);
    assert.match(stdout.toString(), /poison/, "the local store has it");
  });

  bed.it("has each job when Salt's own clients ask it for the job, right after the publish", async () => {
    const { master } = await siteUnder(bed, "ours", "clients");
    const theirs = new Operator(release, master);
    for (let round = 0; round < 5; round += 1)
      assert.deepEqual(await theirs.json("salt", ["stock", "test.ping"]), { stock: true });
    const { stdout } = await theirs.run("salt", ["--out=txt", "-b", "1", "stock", "test.ping"]);
    assert.match(stdout.toString(), /stock: True/);
  });

  bed.it("is asked for what minions return to it themselves", async () => {
    const { folder, operator } = await siteUnder(bed, "ours", "external", {
      ...{ master_job_cache: "local_cache", ext_job_cache: "site_jobs" },
    });
    const { jid } = await operator.job("stock", ["test.arg", "far"]);
    await until("the minion has written", () => returnsOf(folder, "test.arg").length > 0);
    assert.equal(returnsOf(folder, "test.arg").length, 1);
    await until("the master has written", () => linesOf(folder, /\.load$/).some((load) => load.fun === "test.arg"));
    const found = (await operator.json("run", ["jobs.lookup_jid", jid])) as { readonly stock: { args: unknown } };
    assert.deepEqual(found.stock.args, ["far"]);
  });

  bed.it("hears that a returner of minions cannot be read, and starts", async () => {
    const { master, operator } = await siteUnder(bed, "ours", "unread", {
      ...{ master_job_cache: "local_cache", ext_job_cache: "no_such_returner" },
    });
    assert.deepEqual(await operator.json("run", ["jobs.cache_status"]), {
      State: "none",
      Meaning: "no database gets jobs: neither master_job_cache nor ext_job_cache names one",
    });
    assert.match(master.program.output, /ext_job_cache: minions return to 'no_such_returner', which neither/);
  });
});
