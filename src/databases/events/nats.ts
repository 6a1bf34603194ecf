/** Publishes events on a subject of NATS, as the JSON that `rawfile_json` writes. Salt has none of this kind; the options are ours. */
import { randomUUID } from "node:crypto";
import { SaltworksError } from "../../errors.ts";
import { databaseConnectMs, databaseStatementMs } from "../../limits.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import { deadline } from "../contract/deadline.ts";
import type { EventDriver, EventRow, EventSink, EventsWritten } from "../contract/events.ts";
import { jsonText } from "../contract/packed-json.ts";

const packageName = "@nats-io/transport-node";

type Headers = { set(name: string, value: string): void };
type Connection = {
  readonly info?: { readonly max_payload: number; readonly headers?: boolean };
  publish(subject: string, body: string, o: { readonly headers?: Headers }): void;
  flush(): Promise<void>;
  close(): Promise<void>;
  isClosed(): boolean;
  /** Resolves when the connection has ended. */
  closed(): Promise<unknown>;
  status(): AsyncIterable<{ readonly type: string; readonly error?: Error }>;
};
/** What is used of the package. It is optional, so it is loaded when it is first connected to. */
type Nats = {
  connect(o: { readonly [name: string]: unknown }): Promise<Connection>;
  headers(): Headers;
};

export const natsEvents: EventDriver = {
  packageName,
  open: (config) => new NatsEvents(config),
};

class NatsEvents implements EventSink {
  readonly name = "nats";
  readonly place: string;
  readonly #config: DatabaseConfig;
  readonly #origin = randomUUID();
  #nats: Nats | undefined;
  #connection: Connection | undefined;
  /** What the server said about the latest publishes: it does not answer each. */
  #serverError: string | undefined;
  /** A flush that waits when the connection ends is never answered. */
  #onEnded: () => void = () => undefined;

  constructor(config: DatabaseConfig) {
    this.#config = config;
    this.place = `nats://${serversOf(config).map(withoutUser).join(",")}/${config["nats.subject"]}`;
  }

  async check(): Promise<void> {
    await this.#ask(async (connection) => await connection.flush());
  }

  /** A stream of JetStream leaves out what it has already by `Nats-Msg-Id`. */
  async write(rows: readonly EventRow[]): Promise<EventsWritten> {
    const bodies = rows.map(({ tag, data }) => `{"data": ${data}, "tag": ${jsonText(tag)}}`);
    await this.#ask(async (connection) => {
      const max = connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
      const largest = Math.max(...bodies.map((body) => Buffer.byteLength(body)));
      if (largest + headerBytes > max)
        throw new SaltworksError("DATABASE_REFUSED", `an event is larger than ${this.place} takes (max_payload)`, {
          max,
        });
      for (const [index, body] of bodies.entries())
        connection.publish(this.#config["nats.subject"], body, this.#idOf(connection, rows[index]?.serial ?? 0));
      await connection.flush();
    });
    return { added: rows.length, present: 0 };
  }

  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
  }

  #idOf({ info }: Connection, serial: number): { readonly headers?: Headers } {
    const headers = info?.headers === true ? this.#nats?.headers() : undefined;
    if (headers === undefined) return {};
    headers.set("Nats-Msg-Id", `${this.#origin}.${serial}`);
    return { headers };
  }

  async #ask(step: (connection: Connection) => Promise<void>): Promise<void> {
    try {
      const connection = await this.#connected();
      this.#serverError = undefined;
      const answered = new Promise<void>((resolve, reject) => {
        this.#onEnded = () => reject(new Error("the connection has ended"));
        step(connection).then(resolve, reject);
      });
      await deadline(answered, databaseStatementMs, () => undefined);
      if (this.#serverError !== undefined) throw new Error(this.#serverError);
    } catch (error) {
      if (error instanceof SaltworksError) throw error;
      const connection = this.#connection;
      this.#connection = undefined;
      void connection?.close().catch(() => undefined);
      const { message } = error as Error;
      throw new SaltworksError("DATABASE_FAILED", `${this.place}: ${message}`, {}, { cause: error });
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isClosed() === false) return this.#connection;
    this.#nats ??= (await import(packageName)) as Nats;
    const { "nats.user": user, "nats.password": pass, "nats.token": token } = this.#config;
    const opening = this.#nats.connect({
      servers: serversOf(this.#config),
      ...(isSet(user) ? { user, pass: pass ?? "" } : {}),
      ...(isSet(token) ? { token } : {}),
      ...{ name: `saltworks events of ${this.#config.id}`, timeout: databaseConnectMs, reconnect: false },
    });
    const connection = await deadline(opening, 2 * databaseConnectMs, (late) => void late.close());
    this.#connection = connection;
    void this.#watch(connection);
    void connection.closed().then(() => this.#onEnded());
    return connection;
  }

  async #watch(connection: Connection): Promise<void> {
    for await (const { type, error } of connection.status())
      if (type === "error") this.#serverError = error?.message ?? type;
  }
}

/** The header with the event's id. */
const headerBytes = 256;

function isSet(value: string | null): value is string {
  return value !== null && value !== "";
}

function serversOf(config: DatabaseConfig): string[] {
  return [config["nats.servers"]].flat().map(String);
}

/** A server may be written as a URL with a user and a password, which no message may show. */
function withoutUser(server: string): string {
  return server.replace(/^(?:\w+:\/\/)?(?:[^@]*@)?/, "");
}
