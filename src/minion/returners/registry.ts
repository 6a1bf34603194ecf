/** The table of this minion's returners by name, without the disabled ones. */
import type { MinionConfig } from "../../config/load.ts";
import type { ReturnerDocs } from "../functions/module-contract.ts";
import type { Returner, ReturnerTable } from "./contract/returner.ts";
import { memcacheReturner } from "./databases/memcache.ts";
import { mongoReturner } from "./databases/mongo.ts";
import { mysqlReturner } from "./databases/mysql.ts";
import { pgjsonbReturner, postgresReturner } from "./databases/postgresql.ts";
import { redisReturner } from "./databases/redis.ts";
import { sqlite3Returner } from "./databases/sqlite3.ts";
import { localReturner } from "./files/local.ts";
import { localCacheReturner } from "./files/local-cache.ts";
import { multiReturner } from "./files/multi-returner.ts";
import { rawfileJsonReturner } from "./files/rawfile-json.ts";
import { syslogReturner } from "./files/syslog.ts";
import { refusalOf } from "./run.ts";
import { carbonReturner } from "./streams/carbon.ts";
import { kafkaReturner } from "./streams/kafka.ts";
import { natsReturner } from "./streams/nats.ts";
import { smtpReturner } from "./streams/smtp.ts";
import { elasticsearchReturner } from "./web/elasticsearch.ts";
import { httpReturner } from "./web/http.ts";
import { influxdbReturner } from "./web/influxdb.ts";
import { slackWebhookReturner } from "./web/slack-webhook.ts";
import { splunkReturner } from "./web/splunk.ts";

const allReturners: readonly Returner[] = [
  carbonReturner,
  elasticsearchReturner,
  httpReturner,
  influxdbReturner,
  kafkaReturner,
  localReturner,
  localCacheReturner,
  memcacheReturner,
  mongoReturner,
  multiReturner,
  mysqlReturner,
  natsReturner,
  pgjsonbReturner,
  postgresReturner,
  rawfileJsonReturner,
  redisReturner,
  slackWebhookReturner,
  smtpReturner,
  splunkReturner,
  sqlite3Returner,
  syslogReturner,
];

export function loadReturners(config: Pick<MinionConfig, "disable_returners">): ReturnerTable {
  const table = new Map<string, Returner>();
  for (const returner of allReturners) {
    if (config.disable_returners.includes(returner.name)) continue;
    for (const name of [returner.name, ...(returner.aliases ?? [])]) table.set(name, returner);
  }
  return table;
}

/** What `sys` shows: the functions of the returners that can work here. */
export function returnerDocs(table: ReturnerTable): ReturnerDocs {
  const usable = [...table].filter(([name]) => refusalOf(table, name) === undefined);
  return new Map(usable.map(([name, { doc }]) => [`${name}.returner`, doc]));
}
