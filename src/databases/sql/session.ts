/**
 * One connection to a database: it is opened at the first statement, closed at the first fault, and opened anew by the next statement. A driver
 * says how its client library does each step.
 */
import type { SaltworksError } from "../../errors.ts";
import { databaseConnectMs } from "../../limits.ts";
import { deadline } from "../contract/deadline.ts";

export type SqlRow = Readonly<Record<string, string | number | null>>;

export type SessionOptions = {
  readonly statementMs: number;
  readonly connectMs?: number;
  /**
   * A name of which only one connection may exist. A connection that was lost may still wait for a lock on the server and write later, so
   * its successor ends it first.
   */
  readonly soleName?: string;
};

export abstract class SqlSession<Client, Answer, SqlValue> {
  abstract readonly place: string;
  readonly #o: SessionOptions;
  #opening: Promise<Client> | undefined;
  /** The open connection. */
  #client: Client | undefined;
  /** The connection of the transaction that is under way: its statements must not go to a newer one. */
  #transacting: Client | undefined;

  constructor(o: SessionOptions) {
    this.#o = o;
  }

  async rows(sql: string, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.rowsOf(await this.run(sql, values));
  }

  /** Runs a prepared statement. @throws SaltworksError DATABASE_FAILED, DATABASE_REFUSED */
  async run(sql: string, values: readonly SqlValue[]): Promise<Answer> {
    const client = this.#transacting ?? (await this.connected());
    return await this.within(client, this.execute(client, sql, values));
  }

  /** Runs `step` in a transaction. After a fault nothing of it is kept. */
  async transaction<Result>(step: () => Promise<Result>): Promise<Result> {
    const client = await this.connected();
    await this.within(client, this.query(client, "START TRANSACTION"));
    this.#transacting = client;
    try {
      const result = await step();
      await this.within(client, this.query(client, "COMMIT"));
      return result;
    } catch (error) {
      if (this.#client === client)
        await this.within(client, this.query(client, "ROLLBACK")).catch(() => this.drop(client));
      throw error;
    } finally {
      this.#transacting = undefined;
    }
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    this.#client = undefined;
    const client = await opening?.catch(() => undefined);
    if (client !== undefined) this.destroy(client);
  }

  protected connected(): Promise<Client> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw this.errorOf(error);
    });
    return this.#opening;
  }

  /** Waits for a statement, and closes the connection if it does not answer. @throws SaltworksError DATABASE_FAILED, DATABASE_REFUSED */
  protected async within<Result>(client: Client, statement: Promise<Result>): Promise<Result> {
    try {
      return await deadline(statement, this.#o.statementMs, () => undefined);
    } catch (error) {
      if (!this.isAnswer(error)) this.drop(client);
      throw this.errorOf(error);
    }
  }

  /** The next statement connects anew. */
  protected drop(client: Client): void {
    this.destroy(client);
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#opening = undefined;
  }

  async #open(): Promise<Client> {
    const { connectMs = databaseConnectMs, soleName } = this.#o;
    const client = await deadline(this.connect(), connectMs, (late) => this.destroy(late));
    try {
      await this.begin(client);
      if (soleName !== undefined) await this.takeTurn(client, soleName);
    } catch (error) {
      this.destroy(client);
      throw error;
    }
    this.#client = client;
    return client;
  }

  protected abstract connect(): Promise<Client>;
  /** Settings of a new connection. It calls `drop` after an error between two statements. */
  protected abstract begin(client: Client): Promise<void>;
  /** Ends an earlier connection of this name, and waits until the server has rolled back what it did. */
  protected abstract takeTurn(client: Client, name: string): Promise<void>;
  protected abstract execute(client: Client, sql: string, values: readonly SqlValue[]): Promise<Answer>;
  /** A statement without values. */
  protected abstract query(client: Client, sql: string): Promise<Answer>;
  protected abstract rowsOf(answer: Answer): readonly SqlRow[];
  protected abstract destroy(client: Client): void;
  /** The server has answered with this error, so the connection goes on. */
  protected abstract isAnswer(error: unknown): boolean;
  protected abstract errorOf(error: unknown): SaltworksError;
}
