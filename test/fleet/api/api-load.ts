/** Clients of the HTTP API that post jobs and read events without an end, while processes are killed under them. */
import { type IncomingMessage, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

export type Answer = { readonly status: number; readonly retryAfter: string | undefined; readonly text: string };

/** One request over a connection of its own. @throws the system's error if the connection ends before the answer does */
export function ask(port: number, path: string, session: string, body?: unknown): Promise<Answer> {
  const sent = body === undefined ? "" : JSON.stringify(body);
  const headers = {
    "x-auth-token": session,
    ...(sent === "" ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(sent) }),
  };
  return new Promise((resolve, reject) => {
    const method = sent === "" ? "GET" : "POST";
    const asked = request({ host: "127.0.0.1", port, path, method, headers, agent: false }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      answer.once("error", reject);
      answer.once("end", () =>
        resolve({ status: answer.statusCode ?? 0, retryAfter: answer.headers["retry-after"], text }),
      );
    });
    asked.once("error", reject);
    asked.end(sent);
  });
}

/** A job that was posted. `jid`: of an answer that names it. `ms`: how long the answer took. */
export type Posted = {
  readonly name: string;
  readonly client: "local" | "local_async";
  readonly startedMs: number;
  readonly ms: number;
  readonly outcome: /** `named`: the ids in the answer. `minions`: which of them returned, or got the job. */
    | {
        readonly kind: "answered";
        readonly jid: string;
        readonly named: readonly string[];
        readonly minions: readonly string[];
      }
    | { readonly kind: "refused"; readonly status: number; readonly retryAfter: string | undefined }
    /** The connection ended without an answer. */
    | { readonly kind: "cut" };
};

const pauseMs = 20;

/** Posts jobs one after the other, each with a name of its own as the argument of `test.echo`. */
async function post(port: number, session: string, name: string, client: Posted["client"]): Promise<Posted> {
  const startedMs = performance.now();
  const chunk = { client, tgt: "*", fun: "test.echo", arg: [name], full_return: true };
  const outcome = await ask(port, "/", session, chunk).then(outcomeOf, () => ({ kind: "cut" }) as const);
  return { name, client, startedMs, ms: performance.now() - startedMs, outcome };
}

function outcomeOf({ status, retryAfter, text }: Answer): Posted["outcome"] {
  if (status !== 200) return { kind: "refused", status, retryAfter };
  const [item] = (JSON.parse(text) as { return: Record<string, unknown>[] }).return;
  if (item === undefined) return { kind: "answered", jid: "", named: [], minions: [] };
  if (item.jid !== undefined) {
    const minions = item.minions as string[];
    return { kind: "answered", jid: String(item.jid), named: minions, minions };
  }
  const returned = Object.entries(item).filter(([, value]) => value !== false);
  const [, first] = returned[0] ?? [];
  const jid = String((first as { jid?: string } | undefined)?.jid ?? "");
  return { kind: "answered", jid, named: Object.keys(item), minions: returned.map(([id]) => id) };
}

export type Load = { readonly posted: readonly Posted[]; readonly stop: () => Promise<void> };

let loads = 0;

export function startPosting(port: number, session: string, clientCount: number): Load {
  loads += 1;
  const load = loads;
  const posted: Posted[] = [];
  let isStopping = false;
  const run = async (number: number) => {
    for (let count = 0; !isStopping; count += 1) {
      const client = number % 2 === 0 ? "local" : "local_async";
      const one = await post(port, session, `load-${load} client-${number} job-${count}`, client);
      posted.push(one);
      if (one.outcome.kind !== "answered") await wait(pauseMs);
    }
  };
  const clients = Array.from({ length: clientCount }, (_, number) => run(number));
  return {
    posted,
    stop: async () => {
      isStopping = true;
      await Promise.all(clients);
    },
  };
}

/** A reader of `/events` that comes back with its last event, as browsers do. */
export class EventReader {
  readonly tags: string[] = [];
  readonly gaps: string[] = [];
  /** Ids of events, of which none may come twice. */
  readonly ids: string[] = [];
  opened = 0;
  readonly #port: number;
  readonly #session: string;
  #isClosed = false;
  #response: IncomingMessage | undefined;

  constructor(port: number, session: string) {
    this.#port = port;
    this.#session = session;
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
    this.#response?.destroy();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      await this.#read();
      await wait(pauseMs);
    }
  }

  #read(): Promise<void> {
    const last = this.ids.at(-1);
    const headers = { "x-auth-token": this.#session, ...(last === undefined ? {} : { "last-event-id": last }) };
    return new Promise((resolve) => {
      const asked = request({ host: "127.0.0.1", port: this.#port, path: "/events", headers, agent: false });
      asked.once("error", () => resolve());
      asked.once("response", (response) => {
        this.#response = response;
        if (response.statusCode === 200) this.opened += 1;
        let rest = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          const blocks = (rest + part).split("\n\n");
          rest = blocks.pop() ?? "";
          for (const block of blocks) this.#take(block);
        });
        response.once("close", () => resolve());
        response.once("error", () => undefined);
      });
      asked.end();
    });
  }

  #take(block: string): void {
    const tag = /^tag: (.*)$/m.exec(block)?.[1];
    if (tag === undefined) return;
    const id = /^id: (.*)$/m.exec(block)?.[1];
    if (id !== undefined) this.ids.push(id);
    if (tag === "saltworks/events/gap") this.gaps.push(/"reason": "(\w+)"/.exec(block)?.[1] ?? "");
    else this.tags.push(tag);
  }
}
