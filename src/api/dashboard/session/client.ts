/** The HTTP API as the dashboard uses it: one method for each kind of request, with the session's token. */
import type { ListedBatch } from "../views/job-view.ts";
import { readEvents, type StreamedEvent } from "./event-stream.ts";

/** Without `token` the browser's cookie, which pages cannot read, holds the session: after a login at an OpenID provider. */
export type Session = {
  readonly token?: string;
  readonly user: string;
  readonly eauth: string;
  /** Unix time in seconds. */
  readonly expire: number;
  /** Whether the logout ends the login at the OpenID provider, too. */
  readonly endsAtProvider?: boolean;
};
/** `oidcLogin`: the address where the login at an OpenID provider begins. */
export type Welcome = {
  readonly eauth: readonly string[];
  readonly oidcLogin: string | undefined;
  readonly session: Session | undefined;
};
type WelcomeReply = {
  readonly eauth: readonly string[];
  readonly oidc_login?: string;
  readonly oidc_logout?: string;
  readonly session?: Session;
};
/** `next`: the row after which the next page begins; undefined on the last page. */
export type Page<Result> = { readonly value: Result; readonly next: string | undefined };
type PageReply = { readonly _links: { readonly next: readonly { readonly href: string }[] } };
export type Credentials = { readonly username: string; readonly password: string; readonly eauth: string };
export type Target = { readonly tgt: string; readonly tgt_type: string };
export type Command = Target & { readonly fun: string; readonly arg: readonly string[] };
/** Of a path with its query. */
const pathLengthMax = 8_000;
/** Between two looks for a batch that begins. */
const batchLookMs = 300;
type Kwargs = { readonly [name: string]: unknown };

/** A refusal in the API's own words. `status` 0: the API was not reached. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

export type ClientOptions = {
  /** The address of the page, which ends with a slash. */
  readonly baseUrl: string;
  readonly fetch: typeof fetch;
  readonly session: () => Session | undefined;
  /** The API no longer knows the token. */
  readonly onSessionEnd: () => void;
};

export class ApiClient {
  readonly #options: ClientOptions;
  /** Aborted by the logout: what pages still ask for would be refused. */
  readonly #closing = new AbortController();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** How a user can log in here, and the session of the browser's cookie, if it has one. */
  async welcome(): Promise<Welcome> {
    const response = await this.#fetch("login", {
      headers: { Accept: "application/json" },
      credentials: "same-origin",
    });
    const { eauth, oidc_login: oidcLogin, oidc_logout: oidcLogout, session } = (await response.json()) as WelcomeReply;
    const ending = oidcLogout === undefined ? {} : { endsAtProvider: true };
    const found = session && { user: session.user, eauth: session.eauth, expire: session.expire, ...ending };
    return { eauth, oidcLogin, session: found };
  }

  /** @throws ApiError 401 if the password is wrong */
  async login(credentials: Credentials): Promise<Session> {
    const [session] = listOf(await this.#ask("login", credentials)) as readonly (Session | undefined)[];
    if (session === undefined) throw new ApiError(200, "The login was answered without a session.");
    const { token, user, eauth, expire } = session;
    return { ...(token === undefined ? {} : { token }), user, eauth, expire };
  }

  /** Gives up all other requests, which end with an AbortError. */
  async logout(): Promise<void> {
    this.#closing.abort();
    await this.#ask("logout", {}, new AbortController().signal);
  }

  /** As `logout`, with the address to which the browser posts a form instead: the page after it belongs to the provider. */
  leave(): string {
    this.#closing.abort();
    return new URL("logout/oidc", this.#options.baseUrl).href;
  }

  /** Calls a function that changes something. @throws ApiError with the function's own message if it fails */
  async wheel<Result>(fun: string, kwargs: Kwargs = {}): Promise<Result> {
    const reply = (await this.#run({ client: "wheel", fun, kwarg: kwargs })) as WheelReply | undefined;
    if (reply?.data?.success !== true) throw new ApiError(200, String(reply?.data?.return ?? `${fun} failed`));
    return reply.data.return as Result;
  }

  /**
   * Calls a function that only reads. The master keeps no job record of it and fires no event.
   *
   * @throws ApiError with the function's own message if it fails
   */
  async read<Result>(kind: "runner" | "wheel", fun: string, kwargs: Kwargs = {}): Promise<Result> {
    const words = Object.fromEntries(Object.entries(kwargs).map(([name, value]) => [name, wordOf(value)]));
    const path = `${kind}/${fun}?${new URLSearchParams(words)}`;
    // Longer ones do not fit into the headers of a request.
    if (path.length > pathLengthMax && kind === "wheel") return await this.wheel(fun, kwargs);
    const response = await this.#fetch(path, { headers: { Accept: "application/json" } });
    return listOf(await response.json())[0] as Result;
  }

  /** One page of a list, and where the next one begins. A user without a grant for others' jobs gets its own. */
  async page<Result>(path: string, query: Readonly<Record<string, string>>): Promise<Page<Result>> {
    const response = await this.#fetch(`${path}?${new URLSearchParams(query)}`, {
      headers: { Accept: "application/json" },
    });
    const reply = (await response.json()) as PageReply;
    const href = reply._links.next[0]?.href;
    const next = href === undefined ? undefined : new URL(href, this.#options.baseUrl).searchParams.get("after");
    return { value: listOf(reply)[0] as Result, next: next ?? undefined };
  }

  /** Starts a job without waiting for it. Undefined if the target matches no minion. */
  async start(command: Command): Promise<{ readonly jid: string } | undefined> {
    const reply = (await this.#run({ client: "local_async", ...command })) as { readonly jid?: string } | undefined;
    return reply?.jid === undefined ? undefined : { jid: reply.jid };
  }

  /**
   * Starts a batch job. Its answer, without a job id, comes only when the batch is over: the list of batches tells the new one before.
   *
   * @returns undefined if the target matches no minion
   */
  async startBatch(command: Command, batch: string): Promise<string | undefined> {
    const earlier = new Set(Object.keys(await this.#batches()));
    const find = async () => {
      const isOurs = ([jid, one]: [string, ListedBatch]) =>
        !earlier.has(jid) &&
        one.User === this.#options.session()?.user &&
        one.Function === command.fun &&
        one.Target === command.tgt &&
        one.Batch === batch;
      return Object.entries(await this.#batches()).find(isOurs)?.[0];
    };
    let isOver = false;
    const over = this.#run({ client: "local_batch", ...command, batch }).finally(() => {
      isOver = true;
    });
    const looks = async (): Promise<string | undefined> => {
      for (let found = await find(); !isOver; found = await find()) {
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, batchLookMs));
      }
      return (await over) === undefined ? undefined : await find();
    };
    // A failure after the first look is in the job's own states.
    return await Promise.race([looks(), over.then(find)]);
  }

  #batches(): Promise<Readonly<Record<string, ListedBatch>>> {
    return this.read("runner", "jobs.batches");
  }

  /** Pauses, resumes or aborts a batch job. @returns the master's sentence about it */
  async controlBatch(action: "pause" | "resume" | "abort", jid: string): Promise<string> {
    return String(listOf(await this.#ask(`jobs/${encodeURIComponent(jid)}/${action}`, {}))[0]);
  }

  /** Calls `onEvent` for each event until the signal aborts or the API ends the stream. */
  async events(onEvent: (event: StreamedEvent) => void, signal: AbortSignal): Promise<void> {
    const ending = AbortSignal.any([signal, this.#closing.signal]);
    const response = await this.#fetch("events", { signal: ending, headers: { Accept: "text/event-stream" } });
    if (response.body === null) throw new ApiError(response.status, "The stream of events has no content.");
    await readEvents(response.body, onEvent);
  }

  async #run(chunk: Kwargs): Promise<unknown> {
    return listOf(await this.#ask("", [chunk]))[0];
  }

  async #ask(path: string, body: unknown, signal = this.#closing.signal): Promise<unknown> {
    const headers = { Accept: "application/json", "Content-Type": "application/json" };
    const response = await this.#fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
    return await response.json();
  }

  async #fetch(path: string, { headers, signal = this.#closing.signal, ...init }: RequestInit): Promise<Response> {
    const session = this.#options.session();
    const url = new URL(path, this.#options.baseUrl).href;
    const sent = this.#options.fetch(url, {
      ...proofOf(session),
      ...init,
      signal,
      headers: { ...(headers as object), ...proofOf(session).headers },
    });
    const response = await sent.catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new ApiError(0, "The API does not answer. Is it running?");
    });
    if (response.ok) return response;
    const message = messageOf(await response.text(), response.statusText);
    // A refusal of one function is 401 as well, so that only a probe tells whether the session has ended.
    if (response.status === 401 && session !== undefined && (await this.#isEnded(session))) {
      this.#options.onSessionEnd();
      throw new ApiError(401, "The session has ended.");
    }
    throw new ApiError(
      response.status,
      response.status === 401 && session !== undefined ? notPermitted(message) : message,
    );
  }

  async #isEnded(session: Session): Promise<boolean> {
    const url = new URL("stats", this.#options.baseUrl).href;
    const probe = await this.#options.fetch(url, proofOf(session));
    return probe.status === 401;
  }
}

/** What proves the session in a request. A cookie of another session does not mix with a token. */
function proofOf(session: Session | undefined): {
  headers: Record<string, string>;
  credentials: "omit" | "same-origin";
} {
  if (session === undefined) return { headers: {}, credentials: "omit" };
  if (session.token === undefined) return { headers: {}, credentials: "same-origin" };
  return { headers: { "X-Auth-Token": session.token }, credentials: "omit" };
}

/** The API reads values of a query as words of a command line: quotes keep a text a text, but not one with these signs. */
function wordOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => quoted(String(item))).join(", ")}]`;
  if (typeof value !== "string") return String(value);
  return /[#\t\r\n]|^\s*$/.test(value) ? value : quoted(value);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The master's words for a missing permission read as those for a wrong password. */
function notPermitted(message: string): string {
  return `This user has no permission for that. The master says: ${message}`;
}

type WheelReply = { readonly data?: { readonly return?: unknown; readonly success?: boolean } };

function listOf(reply: unknown): readonly unknown[] {
  const items = typeof reply === "object" && reply !== null && "return" in reply ? reply.return : undefined;
  return Array.isArray(items) ? items : [];
}

function messageOf(text: string, fallback: string): string {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null && "return" in body ? String(body.return) : fallback;
  } catch {
    return fallback;
  }
}
