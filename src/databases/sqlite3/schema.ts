/** The tables of Salt's returner `sqlite3`. Source: the columns that Salt's documentation gives for them. */

/** What is missing is made, and what exists is left as it is. Salt makes no index, without which each look for a job reads the whole table. */
export const schema: ReadonlyMap<string, string> = new Map([
  ["jids", "CREATE TABLE jids (jid TEXT PRIMARY KEY, load TEXT NOT NULL)"],
  [
    "salt_returns",
    "CREATE TABLE salt_returns (fun TEXT KEY, jid TEXT KEY, id TEXT KEY, fun_args TEXT, date TEXT NOT NULL, full_ret TEXT NOT NULL, success TEXT NOT NULL)",
  ],
  ["salt_returns_jid_id", "CREATE INDEX salt_returns_jid_id ON salt_returns (jid, id)"],
]);
