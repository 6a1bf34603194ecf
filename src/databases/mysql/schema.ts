/** The tables of Salt's returner `mysql`. Source: the columns and keys that Salt's documentation gives for them. */

/** `utf8mb4`, so that every character fits. Tables that exist are left as they are. */
const storage = "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4";

export const tables: ReadonlyMap<string, string> = new Map([
  [
    "jids",
    `CREATE TABLE \`jids\` (\`jid\` varchar(255) NOT NULL, \`load\` mediumtext NOT NULL, UNIQUE KEY \`jid\` (\`jid\`)) ${storage}`,
  ],
  [
    "salt_returns",
    "CREATE TABLE `salt_returns` (`fun` varchar(50) NOT NULL, `jid` varchar(255) NOT NULL, `return` mediumtext NOT NULL, " +
      "`id` varchar(255) NOT NULL, `success` varchar(10) NOT NULL, `full_ret` mediumtext NOT NULL, " +
      "`alter_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, " +
      `KEY \`id\` (\`id\`), KEY \`jid\` (\`jid\`), KEY \`fun\` (\`fun\`)) ${storage}`,
  ],
  [
    "salt_events",
    "CREATE TABLE `salt_events` (`id` bigint NOT NULL AUTO_INCREMENT, `tag` varchar(255) NOT NULL, `data` mediumtext NOT NULL, " +
      "`alter_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, `master_id` varchar(255) NOT NULL, " +
      `PRIMARY KEY (\`id\`), KEY \`tag\` (\`tag\`)) ${storage}`,
  ],
]);
