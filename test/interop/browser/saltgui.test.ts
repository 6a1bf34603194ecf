/**
 * SaltGUI's published pages as `app` of our HTTP API, with a stock minion. They are not part of this repository: SALTWORKS_SALTGUI names the folder
 * of a release that has index.html (see CONTRIBUTING.md, "Pages"). Without it there is no test here.
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe } from "node:test";
import type { Page } from "playwright-core";
import { Operator } from "../operator.ts";
import { openReleases } from "../salt-releases.ts";
import type { TestBed } from "../test-bed.ts";
import { type ApiSite, password, startMinion, startSite, startStranger } from "./api-site.ts";
import { browserBed } from "./browser-bed.ts";
import { skipsBrowser, type WatchedPage } from "./watched-page.ts";

const folder = process.env.SALTWORKS_SALTGUI;
const all = [".*", "@wheel", "@runner", "@jobs"];
const grants = { ann: all, short: all, vic: ["test.*"], none: [] };
/** Pages, and what stands on them. */
const pages: readonly (readonly [address: string, text: RegExp])[] = [
  ["#minions", /m1.*3007\.\d/s],
  ["#grains", /m1.*3007\.\d.*\d+ grains/s],
  ["#pillars", /m1\s*accepted\s*\d pillars?/],
  ["#mine", /m1\s*accepted\s*\d functions?/],
  ["#beacons", /m1\s*accepted\s*(?:no|\d) beacons?/],
  ["#schedules", /m1\s*accepted\s*\d schedules?/],
  ["#nodegroups", /nodegroup first.*m1.*3007\.\d/s],
  ["#keys", /m3\s*unaccepted\s*[0-9a-f]{2}(?::[0-9a-f]{2}){15}/],
  ["#jobs", /m1\s*state\.apply.*done/s],
  ["#highstate", /m1\s*accepted\s*\d{20}\s*m1\s*state\.apply/],
  ["#orchestrations", /orchestrat/i],
  ["#templates", /tpl1\s*cat1\s*f\s*First template/],
  ["#reactors", /No reactors/],
  ["#issues", /Key for minion 'm3' is unaccepted(?!.*loading info)/s],
  ["#options", /session_eauth:\s*file/],
  ["?minionid=m1#grains-minion", /cpuarch/],
  ["?minionid=m1#pillars-minion", /colour/],
  ["?minionid=m1#mine-minion", /test\.ping/],
  ["?minionid=m1#beacons-minion", /beacons/i],
  ["?minionid=m1#schedules-minion", /weekly/],
];

async function logIn({ page }: WatchedPage, user: string, word = password): Promise<void> {
  await page.locator("#username").fill(user);
  await page.locator("#password").fill(word);
  // SaltGUI lists `file` among others; its value is the name.
  await page.locator("form select").selectOption("file");
  await page.locator("#login-button").click();
}

/** Resolves when the text of what is visible matches. */
async function untilShown(page: Page, text: RegExp): Promise<void> {
  await page.locator(".route.current").filter({ hasText: text }).waitFor();
}

function writeTree(root: string): void {
  const files = {
    "states/top.sls": "base:\n  m1:\n    - motd\n",
    "states/motd.sls": "a note:\n  test.succeed_without_changes: []\na change:\n  test.succeed_with_changes: []\n",
    "pillar/top.sls": "base:\n  '*':\n    - plain\n",
    "pillar/plain.sls": "colour: green\n",
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

async function start(bed: TestBed): Promise<ApiSite> {
  const { all: releases } = await openReleases();
  const release = releases.find(({ name }) => name === "3007");
  assert.ok(release !== undefined && folder !== undefined, "SaltGUI's test needs Salt 3007");
  writeTree(bed.folder);
  const [states, pillar] = ["states", "pillar"].map((name) => join(bed.folder, name));
  const site = await startSite(bed, grants, ["m1"], {
    rest_cherrypy: { app: join(folder, "index.html"), static: join(folder, "static") },
    file_roots: { base: [states] },
    pillar_roots: { base: [pillar] },
    nodegroups: { first: "m1" },
    token_expire_user_override: true,
    saltgui_templates: {
      tpl1: { description: "First template", category: "cat1", key: "f", target: "*", command: "test.fib num=10" },
    },
  });
  await startMinion(site, release, "m1", {
    mine_functions: { "test.ping": [] },
    schedule: { weekly: { function: "test.ping", days: 7 } },
  });
  await startStranger(site, "m3");
  return site;
}

/** Its optional files are not there, and it asks for what a user may not have and for what the master has not. */
const usual = /\b40[014]\b|HTTPError: Unauthorized/;

if (folder !== undefined)
  describe("SaltGUI on our HTTP API", { skip: skipsBrowser }, () => {
    const bed = browserBed(start);
    let watched: WatchedPage;
    let page: Page;
    let site: ApiSite;
    before(async () => {
      ({ site } = bed);
      watched = await bed.open();
      page = watched.page;
    });

    /** Runs a command in the box for commands. */
    async function command(target: string, words: string, shown: RegExp): Promise<void> {
      await page.locator("#button-manual-run").click();
      await page.locator("#target").fill(target);
      await page.locator("#command").fill(words);
      await page.locator("#run-command").click();
      await page.locator("#popup-output").filter({ hasText: shown }).waitFor();
      await page.locator("#cmd-close-button").click();
    }
    async function keyAction(action: RegExp): Promise<void> {
      const row = page.locator("#page-keys tr", { hasText: "m3" });
      await row.locator(".run-command-button").first().hover();
      await row.locator(".menu-dropdown-content > *", { hasText: action }).first().click();
      await page.locator("#run-command").click();
      await page.locator("#popup-output").filter({ hasNotText: "Waiting for command" }).waitFor();
      await page.locator("#cmd-close-button").click();
    }

    bed.it("refuses a wrong password and takes the right one", async () => {
      await logIn(watched, "ann", "wrong");
      await untilShown(page, /Authentication failed/);
      await logIn(watched, "ann");
      await untilShown(page, /m1\s*accepted/);
      watched.assertQuiet(usual);
    });

    bed.it("runs commands, a highstate and runners", async () => {
      await command("*", "test.ping", /m1.*true/s);
      await command("m1", "test.echo one", /one/);
      await command("G@os:* and m1", "test.ping", /m1.*true/s);
      await command("#first", "test.ping", /m1.*true/s);
      await command("m1", "state.apply", /a change.*(?:succeeded|changed)/is);
      await command("m1", "runners.manage.up", /m1/);
      await command("m3", "wheel.key.finger", /[0-9a-f]{2}:[0-9a-f]{2}/);
      await command("m1", "no.such", /not available/);
      watched.assertQuiet(usual);
    });

    for (const [address, text] of pages)
      bed.it(`shows ${address}`, async () => {
        await page.goto(`${site.url}${address}`);
        await untilShown(page, text);
        await watched.shoot(`saltgui-${address.replaceAll(/\W/g, "-")}`);
        watched.assertQuiet(usual);
      });

    bed.it("shows a job with the results of its states", async () => {
      const { jid } = await new Operator("ours", site.master).job("m1", ["state.apply", "motd"]);
      await page.goto(`${site.url}?id=${jid}#job`);
      await untilShown(page, /1 response.*a change/s);
      watched.assertQuiet(usual);
    });

    bed.it("accepts, rejects and deletes a key, and follows by events", async () => {
      await page.goto(`${site.url}#keys`);
      await untilShown(page, /m3\s*unaccepted/);
      await keyAction(/Accept/);
      await untilShown(page, /m3\s*accepted/);
      assert.ok(existsSync(join(site.master.pkiDir, "minions", "m3")));
      await keyAction(/Reject/);
      await untilShown(page, /m3\s*rejected/);
      assert.ok(existsSync(join(site.master.pkiDir, "minions_rejected", "m3")));
      await keyAction(/Delete/);
      await page.locator("#page-keys tr", { hasText: /m3\s*rejected/ }).waitFor({ state: "detached" });
      watched.assertQuiet(usual);
    });

    bed.it("shows events once it is told to", async () => {
      await page.goto(`${site.url}#events`);
      await page.locator("#page-events").getByText("⯈").first().click();
      const { jid } = await new Operator("ours", site.master).job("m1", ["test.ping"]);
      await untilShown(page, new RegExp(`salt/job/${jid}/ret/m1`));
      watched.assertQuiet(usual);
    });

    bed.it("shows a restricted user nothing of others, and turns a user without grants away", async () => {
      for (const [user, text] of [
        ["vic", /Authentication failure|Unauthorized|error/i],
        ["none", /No permissions|Authentication failed/],
      ] as const) {
        const other = await bed.open();
        await logIn(other, user);
        await untilShown(other.page, text);
        assert.doesNotMatch((await other.page.locator(".route.current").textContent()) ?? "", /m1\s*accepted|m3/);
        await other.shoot(`saltgui-${user}`);
        other.assertQuiet(usual);
        await other.context.close();
      }
    });

    bed.it("comes back to the login after a logout and after the session's end", async () => {
      await page.goto(`${site.url}#logout`);
      await untilShown(page, /Logout/);
      watched.assertQuiet(usual);
      const short = await bed.open();
      await short.shortenLogins(5);
      await logIn(short, "short");
      const isAlive = async () => (await short.page.request.get(`${site.url}stats`)).ok();
      while (await isAlive()) await short.page.waitForEvent("requestfinished", { timeout: 500 }).catch(() => undefined);
      await short.page.goto(`${site.url}#keys`);
      await untilShown(short.page, /Session expired|Not logged in/);
      short.assertQuiet(usual);
    });
  });
