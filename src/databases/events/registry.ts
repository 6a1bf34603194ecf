/** The places that get events by their names in `event_return`. */
import { type EventReturnName, eventReturnsOf } from "../../config/options/event-returns.ts";
import type { DatabaseConfig } from "../contract/database.ts";
import type { EventDriver, EventSink } from "../contract/events.ts";
import { mysqlEvents } from "../mysql/events.ts";
import { requirePackage } from "../packages.ts";
import { pgjsonbEvents, postgresEvents } from "../postgres/events.ts";
import { natsEvents } from "./nats.ts";
import { rawfileEvents } from "./rawfile-json.ts";

const drivers: Readonly<Record<EventReturnName, EventDriver>> = {
  mysql: mysqlEvents,
  pgjsonb: pgjsonbEvents,
  postgres: postgresEvents,
  rawfile_json: rawfileEvents,
  nats: natsEvents,
};

/** @throws SaltworksError PACKAGE_MISSING */
export function openEventSink(config: DatabaseConfig, name: EventReturnName): EventSink {
  checkPackage(name);
  return drivers[name].open(config);
}

/** Refuses a configuration whose `event_return` needs a package that is not installed. @throws SaltworksError PACKAGE_MISSING */
export function checkEventPackages(config: DatabaseConfig): void {
  for (const name of eventReturnsOf(config)) checkPackage(name);
}

function checkPackage(name: EventReturnName): void {
  const { packageName } = drivers[name];
  if (packageName !== undefined) requirePackage(`event_return: ${name}`, packageName);
}
