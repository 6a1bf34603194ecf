/** The package `mysql2`, as far as it is used here. It is optional, so it is loaded when a database is first connected to. */
import { createRequire } from "node:module";

export const packageName = "mysql2";

export type MysqlOptions = {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly connectTimeout: number;
  readonly charset: string;
  readonly dateStrings: boolean;
  readonly maxPreparedStatements: number;
  readonly rowsAsArray?: true;
  /** Whole numbers beyond JavaScript's come as text. */
  readonly supportBigNumbers?: true;
  readonly jsonStrings?: true;
  readonly ssl?: MysqlTls;
};
export type MysqlTls = { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
export type MysqlValue = string | number;
export type MysqlRow = Readonly<Record<string, string | number | null>>;
/** Rows of a query, or the facts of a write. `insertId`: the number that the table gave to the first row of the statement. */
export type MysqlAnswer = readonly MysqlRow[] | { readonly affectedRows: number; readonly insertId: number };

export type MysqlClient = {
  execute(sql: string, values: readonly MysqlValue[]): Promise<readonly [MysqlAnswer, unknown]>;
  query(sql: string): Promise<readonly [MysqlAnswer, unknown]>;
  end(): Promise<void>;
  destroy(): void;
  readonly connection: { readonly stream: { readonly bytesRead: number; destroy(): void } };
  on(event: "error", listener: (error: Error) => void): void;
};

type MysqlPackage = { readonly createConnection: (options: MysqlOptions) => Promise<MysqlClient> };

/** @throws Error with the code MODULE_NOT_FOUND if the package is not installed */
export function connectMysql(options: MysqlOptions): Promise<MysqlClient> {
  const require = createRequire(import.meta.url);
  return (require("mysql2/promise") as MysqlPackage).createConnection(options);
}
