/** An operator's day with the dashboard, in headless Chromium, before a real master with real minions. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, mkdirSync, openSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { before, describe } from "node:test";
import type { Page } from "playwright-core";
import { Operator } from "../operator.ts";
import type { TestBed } from "../test-bed.ts";
import { type ApiSite, password, startMinion, startSite, startStranger } from "./api-site.ts";
import { browserBed } from "./browser-bed.ts";
import { pageWaitMs, skipsBrowser, type WatchedPage } from "./watched-page.ts";

const all = [".*", "@wheel", "@runner", "@jobs"];
const grants = { ann: all, short: all, vic: ["test.*"] };
const accepted = ["web1", "web2"];

const looks = [
  ["light", 1_280],
  ["dark", 400],
] as const;
/** Pages, their addresses, and what is on them once they are whole. */
const views = [
  ["fleet", "#/fleet", ".row"],
  ["minion", "#/fleet/web1", ".row"],
  ["run", "#/run?tgt=web*&tgt_type=glob", ".preview strong"],
  ["jobs", "#/jobs", ".row"],
  ["keys", "#/keys", ".finger:not(:empty)"],
  ["accept", "#/keys", ".row input"],
  ["events", "#/events", ".row"],
  ["instruments", "#/instruments", ".plot canvas"],
] as const;

async function openDialog(page: Page): Promise<void> {
  await page.locator(".row input").first().check();
  await page.getByRole("button", { name: "Accept …" }).click();
  await page.locator("dialog .finger:not(:empty)").first().waitFor();
}

/** What axe finds, and content that is wider than the window. */
async function faultsOf(watched: WatchedPage, name: string): Promise<string[]> {
  await watched.shoot(name);
  const overflow = await watched.overflow();
  return [...(await watched.violations()), ...(overflow > 0 ? [`${overflow} pixels too wide`] : [])];
}

/** A key of an id without a minion behind it. */
function writeKey({ master }: ApiSite, folder: "minions" | "minions_pre", id: string): void {
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  mkdirSync(join(master.pkiDir, folder), { recursive: true });
  writeFileSync(join(master.pkiDir, folder, id), publicKey.export({ type: "spki", format: "pem" }));
}

async function start(bed: TestBed): Promise<ApiSite> {
  const site = await startSite(bed, grants, accepted, { token_expire_user_override: true });
  writeKey(site, "minions", "gone1");
  for (const id of ["bad1", "old1"]) writeKey(site, "minions_pre", id);
  for (const id of accepted) await startMinion(site, "ours", id);
  await startStranger(site, "new1");
  return site;
}

describe("the dashboard in a browser", { skip: skipsBrowser }, () => {
  const bed = browserBed(start);
  /** Ann's, who stays logged in. */
  let watched: WatchedPage;
  let page: Page;
  let site: ApiSite;
  before(async () => {
    ({ site } = bed);
    watched = await bed.open();
    page = watched.page;
  });

  async function logIn({ page: of }: WatchedPage, user: string, word = password): Promise<void> {
    await of.getByLabel("User").fill(user);
    await of.getByLabel("Password").fill(word);
    await of.getByLabel("Authentication").selectOption("file");
    await of.getByRole("button", { name: "Log in" }).click();
  }
  const tile = (name: string) => page.locator(".tile", { hasText: name }).locator("dd");
  const rows = (of: Page, label: string) => of.locator(`section[aria-label="${label}"] .row`);
  const go = (name: string) => page.getByRole("navigation").getByRole("link", { name, exact: true }).click();

  bed.it("refuses a wrong password in the master's words, and shows the fleet after the right one", async () => {
    await logIn(watched, "ann", "wrong");
    await page.getByRole("alert").filter({ hasText: "Could not authenticate" }).waitFor();
    watched.assertQuiet(/401/);
    await logIn(watched, "ann");
    await page.getByRole("heading", { name: "Fleet" }).waitFor();
    await tile("Keys waiting").filter({ hasText: "3" }).waitFor();
    assert.equal(await tile("Connected").textContent(), "2");
    assert.equal(await tile("Silent").textContent(), "1");
    watched.assertQuiet();
  });

  bed.it("comes with a policy that allows no inline code", async () => {
    const answer = await page.request.get(site.url, { headers: { accept: "text/html" } });
    assert.match(answer.headers()["content-security-policy"] ?? "", /default-src 'none'; script-src 'self'/);
    assert.doesNotMatch(answer.headers()["content-security-policy"] ?? "", /unsafe/);
    const expression =
      "new Promise((end) => { document.addEventListener('securitypolicyviolation', (event) => end(event.effectiveDirective));" +
      "const script = document.createElement('script'); script.textContent = 'globalThis.isRun = true'; document.body.append(script); })";
    assert.equal(await watched.run(expression), "script-src-elem");
    assert.equal(await watched.run("globalThis.isRun"), undefined);
    watched.assertQuiet(/Content Security Policy/);
  });

  bed.it("finds minions, and explains a target before anything is sent", async () => {
    await page.getByLabel("Search ids").fill("web*");
    await page.getByText("2 minions shown").waitFor();
    await page.getByLabel("Search ids").fill("");
    await page.getByLabel("Show").selectOption("silent");
    await page.getByText("1 minion shown").waitFor();
    assert.match((await rows(page, "Minions").textContent()) ?? "", /gone1\s*silent/);
    await page.getByText("What would a target reach?").click();
    await page.getByLabel("Target", { exact: true }).fill("web* or L@gone1,none1");
    const preview = page.locator(".preview");
    await preview.filter({ hasText: "Reaches 3 minions: 2 connected, 1 silent" }).waitFor();
    assert.match((await preview.textContent()) ?? "", /web\*\s*matches 2/);
    await watched.shoot("fleet");
    await page.getByLabel("Show").selectOption("all");
    await rows(page, "Minions").getByRole("link", { name: "web1" }).click();
    await page.getByText("Connected.").waitFor();
    await page.getByLabel("Search grains").fill("^id");
    await page.getByLabel("Search grains").fill("id");
    await rows(page, "Grains").getByText("web1").first().waitFor();
    await watched.shoot("minion");
    watched.assertQuiet();
  });

  bed.it("runs a command by keyboard alone, and shows its minions one after the other", async () => {
    const fifo = join(bed.folder, "gate");
    execFileSync("mkfifo", [fifo]);
    const { keyboard } = page;
    await watched.tabTo('nav a[href="#/run"]');
    await keyboard.press("Enter");
    await watched.tabTo("label:has-text('Target') > input".replace(":has-text('Target')", ":first-child"));
    await keyboard.press("Control+A");
    await keyboard.type("web*");
    await page.getByText("Reaches 2 minions").waitFor();
    await watched.tabTo("input[pattern][required]");
    await keyboard.press("Control+A");
    await keyboard.type("cmd.run");
    await watched.tabTo("textarea");
    await keyboard.type(`head -n 1 ${fifo}`);
    await watched.shoot("run");
    await watched.tabTo("button[type=submit]");
    await keyboard.press("Enter");
    await page.getByRole("dialog").getByText("It goes to 2 minions.").waitFor();
    await watched.shoot("confirm");
    await watched.tabTo("dialog button[type=submit]");
    await keyboard.press("Enter");
    await page.locator(".counts").filter({ hasText: "of 2 minions" }).waitFor();
    await page.locator(".counts").filter({ hasNotText: "returned" }).waitFor();
    // Open for both ways, so that a reader after the first line waits for the next one.
    const gate = openSync(fifo, "r+");
    writeSync(gate, "one\n");
    await page.locator(".counts").filter({ hasText: "1 returned" }).waitFor();
    assert.equal(await page.locator("main strong").first().textContent(), "Running");
    await watched.shoot("job-running");
    writeSync(gate, "two\n");
    await page.locator(".counts").filter({ hasText: "2 returned" }).waitFor();
    await page.locator("main strong", { hasText: "Over" }).waitFor();
    await watched.tabTo(".row button");
    await keyboard.press("Enter");
    await page
      .getByRole("region", { name: /Return of web/ })
      .getByText(/^(?:one|two)$/)
      .waitFor();
    await watched.shoot("job");
    watched.assertQuiet();
  });

  bed.it("pauses, resumes and aborts a batch", async () => {
    const fifo = join(bed.folder, "batch-gate");
    execFileSync("mkfifo", [fifo]);
    await go("Run");
    await page.getByLabel("Target", { exact: true }).fill("web*");
    await page.getByLabel("Function").fill("cmd.run");
    await page.getByLabel("Arguments").fill(`cat ${fifo}`);
    await page.getByLabel("At a time").fill("1");
    await page.getByRole("button", { name: "Run …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("Batch, 1 at a time: running").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("Batch, 1 at a time: paused").waitFor();
    await watched.shoot("batch");
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByText("Batch, 1 at a time: running").waitFor();
    await page.getByRole("button", { name: "Abort" }).click();
    await page.getByRole("button", { name: "Abort" }).waitFor({ state: "detached" });
    writeSync(openSync(fifo, "r+"), "end\n");
    watched.assertQuiet();
  });

  bed.it("finds jobs by function", async () => {
    const operator = new Operator("ours", site.master);
    const { jid } = await operator.job("web1", ["test.echo", "of-an-operator"]);
    await go("Jobs");
    await page.getByLabel("Function (glob)").fill("test.ech*");
    await page.getByRole("button", { name: "Search" }).click();
    await rows(page, "Jobs").filter({ hasText: "test.echo" }).getByRole("link").first().click();
    await page.getByText(jid).waitFor();
    await page.locator(".counts").filter({ hasText: "1 returned" }).waitFor();
    await page.getByText("of-an-operator").waitFor();
    await go("Jobs");
    await page.getByLabel("Function (glob)").fill("cmd.run");
    await page.getByRole("button", { name: "Search" }).click();
    await rows(page, "Jobs").filter({ hasText: "test.echo" }).first().waitFor({ state: "detached" });
    await watched.shoot("jobs");
    assert.ok((await rows(page, "Jobs").allInnerTexts()).every((text) => text.includes("cmd.run")));
    watched.assertQuiet();
  });

  bed.it("accepts, rejects and deletes keys after a look at their fingerprints", async () => {
    const operator = new Operator("ours", site.master);
    const printed = (await operator.run("key", ["-f", "new1"])).stdout.toString();
    const finger = /[0-9a-f]{2}(?::[0-9a-f]{2}){15,}/.exec(printed)?.[0] ?? "none";
    await go("Keys");
    const row = (id: string) => rows(page, "Keys").filter({ hasText: id });
    await row("new1").filter({ hasText: finger }).waitFor();
    const change = async (id: string, action: string) => {
      await row(id).getByRole("checkbox").check();
      await page.getByRole("button", { name: `${action} …` }).click();
      await page
        .getByRole("dialog")
        .getByRole("heading", { name: `${action} 1 key?` })
        .waitFor();
      await watched.shoot(`keys-${action.toLowerCase()}`);
      await page.getByRole("dialog").getByRole("button", { name: action, exact: true }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    };
    await change("new1", "Accept");
    await row("new1").filter({ hasText: "accepted" }).waitFor();
    await change("bad1", "Reject");
    await row("bad1").filter({ hasText: "rejected" }).waitFor();
    await change("old1", "Delete");
    await row("old1").waitFor({ state: "detached" });
    const has = (folder: string, id: string) => existsSync(join(site.master.pkiDir, folder, id));
    assert.deepEqual(
      [has("minions", "new1"), has("minions_rejected", "bad1"), has("minions_pre", "bad1"), has("minions_pre", "old1")],
      [true, true, false, false],
    );
    await watched.shoot("keys");
    await site.events.until("new1 start", ({ tag }) => tag === "salt/minion/new1/start", pageWaitMs);
    await go("Fleet");
    await rows(page, "Minions")
      .filter({ hasText: /new1\s*connected/ })
      .waitFor();
    watched.assertQuiet();
  });

  bed.it("shows events as they come", async () => {
    await go("Events");
    const operator = new Operator("ours", site.master);
    await page.getByLabel("Tags").fill("salt/job/*/ret/web1");
    const { jid } = await operator.job("web1", ["test.echo", "in-an-event"]);
    const button = page.getByRole("button", { name: `salt/job/${jid}/ret/web1` });
    await button.click();
    await page.getByRole("region", { name: "The chosen event" }).getByText('"return": "in-an-event"').waitFor();
    await watched.shoot("events");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByText("paused").waitFor();
    watched.assertQuiet();
  });

  bed.it("shows the master's instruments", async () => {
    await go("Instruments");
    await page.locator(".plot canvas").nth(3).waitFor();
    assert.match((await tile("Connected").textContent()) ?? "", /3\s*of 4/);
    assert.equal(await page.getByRole("region", { name: "Workers" }).locator("tbody tr").count(), 2);
    // The page's own requests.
    await tile("Requests")
      .filter({ hasNotText: /^0 a second/ })
      .waitFor();
    await page.getByRole("img", { name: /^Memory over the last minutes, now \d/ }).waitFor();
    await watched.shoot("instruments");
    watched.assertQuiet();
  });

  bed.it("shows a user without a permission the master's refusal, and nothing else", async () => {
    const limited = await bed.open();
    await logIn(limited, "vic");
    await limited.page.getByRole("alert").filter({ hasText: "This user has no permission for that." }).waitFor();
    assert.doesNotMatch((await limited.page.locator("main").textContent()) ?? "", /web1|gone1/);
    await limited.shoot("refused");
    limited.assertQuiet(/401|403/);
    await limited.context.close();
  });

  bed.it("leaves nothing of its own reading among the jobs and the events", async () => {
    const listed = await new Operator("ours", site.master).json("run", ["jobs.list_jobs"]);
    const functions = Object.values(listed as Record<string, { Function: string }>).map(({ Function: name }) => name);
    // What the master itself asks minions, such as find_job, is not counted.
    const calls = functions.filter((name) => /^(?:runner|wheel)\./.test(name));
    assert.deepEqual(new Set(calls), new Set(["runner.jobs.pause", "runner.jobs.resume", "runner.jobs.abort"]));
    const fired = site.events.seen.filter(({ tag }) => /^salt.(?:run|wheel)/.test(tag));
    const reading =
      "wheel.key.list_all wheel.key.finger wheel.minions.connected wheel.saltworks.metrics runner.jobs.status".split(
        " ",
      );
    assert.deepEqual(
      fired.map(({ data }) => String(data.get("fun"))).filter((name) => reading.includes(name)),
      [],
    );
  });

  for (const [colorScheme, width] of looks)
    bed.it(`is readable by everyone, ${colorScheme}, ${width} pixels wide`, async () => {
      const look = await bed.open({ colorScheme, width });
      await look.page.getByRole("button", { name: "Log in" }).waitFor();
      const found = { login: await faultsOf(look, `login-${colorScheme}-${width}`) };
      await logIn(look, "ann");
      await look.page.getByRole("heading", { name: "Fleet" }).waitFor();
      for (const [name, address, selector] of views) {
        const isHeard = look.page.waitForResponse((answer) => name !== "events" || answer.url().endsWith("/events"));
        await look.page.goto(`${site.url}${address}`);
        await isHeard;
        if (name === "events") await new Operator("ours", site.master).job("web1", ["test.ping"]);
        await look.page.locator(selector).first().waitFor();
        if (name === "fleet") await look.page.getByText("What would a target reach?").click();
        if (name === "accept") await openDialog(look.page);
        Object.assign(found, { [name]: await faultsOf(look, `${name}-${colorScheme}-${width}`) });
      }
      assert.deepEqual(
        Object.entries(found).filter(([, faults]) => faults.length > 0),
        [],
      );
      look.assertQuiet();
      await look.context.close();
    });

  bed.it("ends the session at a logout, on the server too", async () => {
    const kept = String(await watched.run("Object.values({...sessionStorage}).join()"));
    const token = /"token":"([^"]+)"/.exec(kept)?.[1] ?? "none";
    const stats = async () =>
      (await page.request.get(`${site.url}stats`, { headers: { "X-Auth-Token": token, Cookie: "" } })).status();
    assert.equal(await stats(), 200);
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("button", { name: "Log in" }).waitFor();
    assert.equal(await stats(), 401);
    await page.goBack();
    await page.getByRole("button", { name: "Log in" }).waitFor();
    assert.equal(await page.locator(".row").count(), 0);
    watched.assertQuiet();
  });

  bed.it("asks for a new login when the session expires", async () => {
    const short = await bed.open();
    await short.shortenLogins(2);
    await logIn(short, "short");
    await short.page.getByRole("alert").filter({ hasText: "The session has ended. Log in again." }).waitFor();
    // For the keyboard: the first field is where the next word goes.
    await short.page.locator("input[name=username]:focus").waitFor();
    short.assertQuiet(/401/);
    await short.context.close();
  });
});
