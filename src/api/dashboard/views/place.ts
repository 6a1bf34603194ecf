/** The pages and their addresses: everything after the # of the address, such as `#/jobs/20261124150000000000`. */

export const pages = ["fleet", "run", "jobs", "keys", "events", "instruments"] as const;
export type PageName = (typeof pages)[number];
/** `item`: what the page shows one of, such as a job id. */
export type Place = { readonly page: PageName; readonly item: string; readonly query: ReadonlyMap<string, string> };

export const titles: Readonly<Record<PageName, string>> = {
  fleet: "Fleet",
  run: "Run",
  jobs: "Jobs",
  keys: "Keys",
  events: "Events",
  instruments: "Instruments",
};

/** An unknown address is the fleet's. */
export function placeOf(hash: string): Place {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", item = ""] = path.split("/").map(decoded);
  const page = pages.find((known) => known === name) ?? "fleet";
  return { page, item: page === name ? item : "", query: new Map(new URLSearchParams(search)) };
}

export function addressOf(page: PageName, item = "", query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString();
  return `#/${page}${item === "" ? "" : `/${encodeURIComponent(item)}`}${search === "" ? "" : `?${search}`}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
