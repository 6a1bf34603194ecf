/** The groups of a user, as Salt's backend finds them: in Active Directory, in FreeIPA, and in other directories. */
import type { LdapConnection, LdapEntry } from "./client.ts";
import type { LdapSettings } from "./settings.ts";
import { escapeFilter, filterFor, firstValueOf } from "./templates.ts";

/** `dn`: the name of the user's entry, or what it logs in as. */
export type LdapUser = { readonly username: string; readonly dn: string };

export function groupsOf(connection: LdapConnection, settings: LdapSettings, user: LdapUser): Promise<string[]> {
  switch (settings.directory) {
    case "activeDirectory":
      return groupsInActiveDirectory(connection, settings, user.username);
    case "freeIpa":
      return groupsInFreeIpa(connection, settings, user.username);
    default:
      return groupsInOther(connection, settings, user);
  }
}

async function groupsInActiveDirectory(
  connection: LdapConnection,
  { baseDn: base, accountAttribute, personType, groupClass }: LdapSettings,
  username: string,
): Promise<string[]> {
  const own = `(&(${accountAttribute}=${escapeFilter(username)})(objectClass=${personType}))`;
  const [user] = await connection.search({ base, scope: "sub", filter: own, attributes: ["distinguishedName"] });
  if (user === undefined) return [];
  const filter = `(&(member=${escapeFilter(user.dn)})(objectClass=${groupClass}))`;
  const found = await connection.search({ base, scope: "sub", filter, attributes: ["cn"] });
  return found.flatMap((entry) => entry.values("cn").slice(0, 1));
}

async function groupsInFreeIpa(
  connection: LdapConnection,
  { groupBaseDn: base, groupFilter, accountAttribute, groupAttribute }: LdapSettings,
  username: string,
): Promise<string[]> {
  const filter = filterFor(groupFilter, username);
  const found = await connection.search({
    base,
    scope: "sub",
    filter,
    attributes: [accountAttribute, groupAttribute, "cn"],
  });
  const hasUser = (entry: LdapEntry) =>
    [...entry.values(accountAttribute), ...entry.values(groupAttribute)].some((dn) => firstOrWhole(dn) === username);
  return found.filter(hasUser).map((entry) => firstValueOf(entry.dn));
}

/** Members may be listed by name alone. */
function firstOrWhole(dn: string): string {
  return dn.includes("=") ? firstValueOf(dn) : dn;
}

/**
 * Groups that list the user, and groups that the user's own entry lists. The entry's `cn` is not a group, although Salt counts it as one, because
 * many directories let users change it.
 */
async function groupsInOther(
  connection: LdapConnection,
  { baseDn, groupOu, scope, accountAttribute, groupAttribute, groupClass }: LdapSettings,
  { username, dn }: LdapUser,
): Promise<string[]> {
  const base = groupOu === "" ? baseDn : `ou=${groupOu},${baseDn}`;
  const filter = `(&(${accountAttribute}=${escapeFilter(username)})(objectClass=${groupClass}))`;
  const attributes = [accountAttribute, "cn", groupAttribute];
  const found = await connection.search({ base, scope, filter, attributes });
  const isOwn = (entry: LdapEntry) => (dn.includes("=") ? isSameDn(entry.dn, dn) : firstValueOf(entry.dn) === username);
  const listing = found.filter((entry) => !isOwn(entry) && entry.values(accountAttribute).includes(username));
  return [
    ...listing.flatMap((entry) => entry.values("cn").slice(0, 1)),
    ...found.filter(isOwn).flatMap((entry) => entry.values(groupAttribute).map(firstOrWhole)),
  ];
}

function isSameDn(one: string, other: string): boolean {
  const plain = (dn: string) => dn.toLowerCase().replaceAll(/\s*([,=])\s*/g, "$1");
  return plain(one) === plain(other);
}
