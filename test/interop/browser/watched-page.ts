/** Pages in headless Chromium that keep what must not happen on them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { browserProgram } from "../../../bench/http/chromium.ts";

/** Why browser tests are skipped. With CI=true they run, and fail without a browser. */
export const skipsBrowser: string | false =
  browserProgram === undefined && process.env.CI !== "true" ? "Chromium is not installed" : false;
/** For slow machines: each wait of a page. */
export const pageWaitMs = 60_000;
/** A folder for screenshots, to look at by hand. */
const shotsFolder = process.env.SALTWORKS_SCREENSHOTS;
const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export type Look = { readonly width?: number; readonly colorScheme?: "light" | "dark" };

/** One page of one browser profile. */
export class WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings of the console, and exceptions that the page did not catch. */
  readonly complaints: string[] = [];
  /** Requests to any other origin. */
  readonly foreign: string[] = [];

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (url.protocol !== "data:" && url.origin !== origin) this.foreign.push(request.url());
    });
  }

  static async open(browser: Browser, url: string, { width = 1_280, colorScheme = "light" }: Look = {}) {
    const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme });
    context.setDefaultTimeout(pageWaitMs);
    const page = await context.newPage();
    const watched = new WatchedPage(context, page, new URL(url).origin);
    await page.goto(url);
    return watched;
  }

  /** Runs an expression past the page's content security policy. */
  async run(expression: string): Promise<unknown> {
    const session = await this.context.newCDPSession(this.page);
    try {
      const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
        expression,
        awaitPromise: true,
        returnByValue: true,
      });
      if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? "it failed");
      return result.value;
    } finally {
      await session.detach();
    }
  }

  /** Nothing has gone wrong on the page since the last look, except what is expected. */
  assertQuiet(expected: RegExp = /^$/): void {
    assert.deepEqual(this.foreign, [], "requests to other origins");
    assert.deepEqual(
      this.complaints.splice(0).filter((text) => !expected.test(text)),
      [],
    );
  }

  /** Logins of this page ask for a session that lasts `seconds`. */
  async shortenLogins(seconds: number): Promise<void> {
    await this.page.route("**/login", async (route) => {
      const body = JSON.parse(route.request().postData() ?? "{}");
      await route.continue({ postData: JSON.stringify({ ...body, token_expire: seconds }) });
    });
  }

  /** What axe finds wrong, one line each. */
  async violations(): Promise<string[]> {
    const line = "[id, target, any[0]?.message].join(' ')";
    const found = `violations.flatMap(({id, nodes}) => nodes.map(({target, any}) => ${line}))`;
    return (await this.run(`${axeSource};axe.run().then(({violations}) => ${found})`)) as string[];
  }

  /** Pixels by which the page is wider than the window. */
  async overflow(): Promise<number> {
    return Number(await this.run("Math.max(0, document.documentElement.scrollWidth - innerWidth)"));
  }

  /** Presses Tab until the focus is on what the selector finds. */
  async tabTo(selector: string, pressesMax = 60): Promise<void> {
    await this.page.locator(selector).first().waitFor();
    const isThere = `document.activeElement !== null && document.activeElement.matches(${JSON.stringify(selector)})`;
    for (let presses = 0; presses < pressesMax; presses += 1) {
      if ((await this.run(isThere)) === true) return;
      await this.page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${selector}`);
  }

  /** Leaves a picture, if the environment names a folder for them. */
  async shoot(name: string): Promise<void> {
    if (shotsFolder !== undefined) await this.page.screenshot({ path: join(shotsFolder, `${name}.png`) });
  }
}
