/**
 * Question: how soon does the dashboard show a large fleet, and does it stay smooth while a job of all minions returns?
 *
 *     node dist/bench/http/dashboard.js [--minions 9000] [--rows 20000] [--rounds 5]
 *
 * One JSON line for each figure. `--minions` simulated minions are connected; keys without a minion make up `--rows`. Headless Chromium, the
 * fleet, the master and its API share the machine.
 */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Page } from "playwright-core";
import { SaltworksError } from "../../src/errors.ts";
import { descriptorsForMaster } from "../fleet/descriptors.ts";
import { type Fleet, openFleet } from "../fleet/fleet.ts";
import { freePorts } from "../free-ports.ts";
import { thisMachine } from "../machine.ts";
import { MasterProcess } from "../master-process.ts";
import { openBrowser } from "./chromium.ts";

const cliFile = fileURLToPath(new URL("../../src/cli/main.js", import.meta.url));
const deadlineMs = 120_000;
const lookMs = 200;
/** Notes when the first row of a list was painted, and each task of the page's thread that the browser calls long: over 50 ms. */
const watchScript = `
  globalThis.longTasks = [];
  const keep = (list) => longTasks.push(...list.getEntries().map(({ duration }) => duration));
  new PerformanceObserver(keep).observe({ entryTypes: ["longtask"] });
  const watch = new MutationObserver(() => {
    if (document.querySelector(".row") === null) return;
    watch.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => { globalThis.paintedMs = performance.now(); }));
  });
  watch.observe(document, { childList: true, subtree: true });
`;

function tell(line: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Keys that the master accepts, without minions. */
function fillKeys(pkiDirectory: string, count: number): void {
  const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const text = publicKey.export({ type: "spki", format: "pem" });
  mkdirSync(join(pkiDirectory, "minions"), { recursive: true });
  for (let index = 0; index < count; index += 1) writeFileSync(join(pkiDirectory, "minions", `absent-${index}`), text);
}

/** Runs an expression past the page's content security policy. */
async function run(page: Page, expression: string): Promise<unknown> {
  const session = await page.context().newCDPSession(page);
  const { result } = await session.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  await session.detach();
  return result.value;
}

/** When the first rows were painted, from the navigation on. */
async function paintedMs(page: Page): Promise<number> {
  const deadline = performance.now() + deadlineMs;
  while (performance.now() < deadline) {
    const found = await run(page, "globalThis.paintedMs");
    if (typeof found === "number") return Math.round(found);
    await wait(lookMs);
  }
  throw new SaltworksError("TASK_TIMEOUT", `the page had no row within ${deadlineMs} ms`);
}

async function logIn(page: Page, url: string): Promise<void> {
  await page.goto(url, { timeout: deadlineMs });
  await page.getByLabel("User").fill("bench");
  await page.getByLabel("Password").fill("any");
  await page.getByLabel("Authentication").selectOption("auto");
  await page.getByRole("button", { name: "Log in" }).click();
  await paintedMs(page);
}

async function measurePaint(page: Page, rounds: number): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await page.reload({ timeout: deadlineMs });
    times.push(await paintedMs(page));
  }
  const rows = Number(await run(page, `document.querySelector(".row").getAttribute("aria-setsize")`));
  tell({ what: "first rows of the fleet painted", rows, ms: times });
}

type Headers = Readonly<Record<string, string>>;

/** Publishes `test.ping` to all minions as another operator does. @returns the job's id */
async function publish(url: string, headers: Headers): Promise<string> {
  const body = JSON.stringify({ client: "local_async", tgt: "sim-*", fun: "test.ping" });
  const answer = await fetch(url, { method: "POST", headers, body });
  const { return: started } = (await answer.json()) as { readonly return: readonly { readonly jid: string }[] };
  return started[0]?.jid ?? "none";
}

/** How many minions have returned. */
async function returnedCount(url: string, headers: Headers, jid: string): Promise<number> {
  const answer = await fetch(`${url}runner/jobs.status?limit=0&jid=%27${jid}%27`, { headers });
  const { return: found } = (await answer.json()) as {
    readonly return: readonly Readonly<Record<string, { readonly Counts?: { readonly returned?: number } }>>[];
  };
  return found[0]?.[jid]?.Counts?.returned ?? 0;
}

type Site = { readonly url: string; readonly minionCount: number };

/** Long tasks of a page, which is open already, while a job of all minions returns. `of`: the address of one job's page. */
async function measureTasks(page: Page, site: Site, name: string, of = (_jid: string) => `#/${name}`): Promise<void> {
  const { url, minionCount } = site;
  const token = await run(page, `Object.values({ ...sessionStorage }).join().match(/"token":"([^"]+)"/)[1]`);
  const headers = { "x-auth-token": String(token), "content-type": "application/json" };
  await page.goto(url + of(""));
  await wait(1_000);
  await run(page, "longTasks.length = 0");
  const startedMs = performance.now();
  const jid = await publish(url, headers);
  if (of(jid) !== of("")) await page.goto(url + of(jid));
  const deadline = startedMs + deadlineMs;
  while ((await returnedCount(url, headers, jid)) < minionCount) {
    if (performance.now() > deadline) throw new SaltworksError("TASK_TIMEOUT", `job ${jid} has not returned`);
    await wait(lookMs);
  }
  const returnedMs = Math.round(performance.now() - startedMs);
  // What the page still draws of the last returns.
  await wait(2_000);
  const tasks = ((await run(page, "longTasks")) as number[]).map(Math.round);
  tell({ what: `long tasks of the page ${name}`, returnedMs, count: tasks.length, longestMs: Math.max(0, ...tasks) });
}

async function measure(site: Site, rounds: number): Promise<void> {
  const browser = await openBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1_280, height: 800 } });
    await context.addInitScript({ content: watchScript });
    const page = await context.newPage();
    await logIn(page, site.url);
    await measurePaint(page, rounds);
    await measureTasks(page, site, "jobs", (jid) => `#/jobs/${jid}`);
    for (const name of ["events", "fleet", "instruments"]) await measureTasks(page, site, name);
  } finally {
    await browser.close();
  }
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({ options: { minions: text, rows: text, rounds: text } });
  const numbers = [values.minions ?? 9_000, values.rows ?? 20_000, values.rounds ?? 5].map(Number);
  const [minionCount = 0, rows = 0, rounds = 0] = numbers;
  if (!minionCount || !(rows >= minionCount) || !rounds)
    throw new SaltworksError("USAGE", "--minions, --rows and --rounds are whole numbers; no more minions than rows");
  const [port = 0] = await freePorts(1);
  const config = {
    log_level: "warning",
    auto_accept: true,
    external_auth: { auto: { bench: [".*", "@wheel", "@runner", "@jobs"] } },
    netapi_enable_clients: ["local_async", "runner", "wheel"],
    rest_cherrypy: { port, host: "127.0.0.1", disable_ssl: true },
  };
  let fleet: Fleet | undefined;
  const command = [process.execPath, cliFile, "master"];
  const master = await MasterProcess.start({ command, config, descriptors: descriptorsForMaster(minionCount) });
  try {
    fillKeys(master.pkiDirectory, rows - minionCount);
    fleet = await openFleet({ masterHost: "127.0.0.1", requestPort: master.requestPort, minionCount });
    await fleet.untilUp(deadlineMs);
    tell({ machine: thisMachine(), minions: minionCount, rows });
    await measure({ url: `http://127.0.0.1:${port}/`, minionCount }, rounds);
  } finally {
    await fleet?.close();
    await master.remove();
  }
}

await main();
