/** What tests in a browser share: a site of ours, and one headless Chromium that is closed with everything that was started. */
import { after, before } from "node:test";
import type { Browser } from "playwright-core";
import { openBrowser } from "../../../bench/http/chromium.ts";
import { TestBed } from "../test-bed.ts";
import type { ApiSite } from "./api-site.ts";
import { type Look, WatchedPage } from "./watched-page.ts";

export class BrowserBed extends TestBed {
  #browser: Browser | undefined;
  #site: ApiSite | undefined;

  /** Opens the browser while the site starts. */
  async begin(startSite: (bed: TestBed) => Promise<ApiSite>): Promise<void> {
    [this.#browser, this.#site] = await Promise.all([openBrowser(), startSite(this)]);
  }

  get site(): ApiSite {
    if (this.#site === undefined) throw new Error("the site has not started");
    return this.#site;
  }

  /** The site's first page, in a profile of its own. */
  async open(look: Look = {}): Promise<WatchedPage> {
    if (this.#browser === undefined) throw new Error("the browser has not started");
    return await WatchedPage.open(this.#browser, this.site.url, look);
  }

  override async close(): Promise<void> {
    await this.#browser?.close();
    await super.close();
  }
}

/** The bed of the tests around this call: begins before them and is closed after them. `startSite` may start more than the site. */
export function browserBed(startSite: (bed: TestBed) => Promise<ApiSite>): BrowserBed {
  const bed = new BrowserBed();
  before(async () => await bed.begin(startSite));
  after(async () => await bed.close());
  return bed;
}
