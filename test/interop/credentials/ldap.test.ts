/** The backend `ldap` against OpenLDAP: who may log in, with which groups, and what names and passwords must not achieve. */
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { freePort } from "../../../bench/free-ports.ts";
import type { ConfigMap } from "../../../src/config/yaml/values.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { checkCredential } from "../../../src/workers/credentials/backends.ts";
import { type Certificates, makeCertificates } from "../../services/certificates.ts";
import { powerless, type Service, skipWithout, startSlapd } from "../../services/service.ts";
import { decided } from "./decided.ts";

const suffix = "dc=test,dc=org";
const oid = "1.3.6.1.4.1.55555.1";
const settings = [
  `attributetype ( ${oid}.1 NAME 'memberOf' SUP distinguishedName )`,
  `objectclass ( ${oid}.2 NAME 'computer' SUP device STRUCTURAL )`,
  `objectclass ( ${oid}.3 NAME 'member-of' SUP top AUXILIARY MAY memberOf )`,
];
/** Users may read and change their own entry; others need the administrator. */
const rules = [
  'access to dn.base="" by * read',
  "access to attrs=userPassword by anonymous auth by * none",
  "access to * by self write by users read by anonymous search",
];

const entry = (dn: string, ...lines: readonly string[]) => `dn: ${dn}\n${lines.join("\n")}\n\n`;
const person = (uid: string, password: string, ...lines: readonly string[]) =>
  entry(
    `uid=${uid.replaceAll(/[,*()\\]/g, (char) => (char === "," ? "\\," : char === "\\" ? "\\\\" : char))},ou=People,${suffix}`,
    "objectClass: inetOrgPerson",
    "objectClass: member-of",
    `uid: ${uid}`,
    "sn: x",
    `userPassword: ${password}`,
    ...lines,
  );
const unit = (name: string) => entry(`ou=${name},${suffix}`, "objectClass: organizationalUnit", `ou: ${name}`);
const computer = (cn: string) => entry(`cn=${cn},ou=Web,${suffix}`, "objectClass: computer", `cn: ${cn}`);
const ldif = [
  entry(suffix, "objectClass: dcObject", "objectClass: organization", "dc: test", "o: test"),
  ...["People", "Groups", "Web", "Empty"].map(unit),
  person("ann", "ann-1", "cn: Ann", `memberOf: cn=dev,ou=Groups,${suffix}`),
  person("bob", "bob-1", "cn: ops"),
  person("st*r", "star-1", "cn: Star"),
  person("odd, name (x)", "odd-1", "cn: Odd"),
  person("twin", "twin-1", "cn: Twin"),
  entry(
    `uid=twin,ou=Empty,${suffix}`,
    "objectClass: inetOrgPerson",
    "uid: twin",
    "cn: Twin",
    "sn: x",
    "userPassword: twin-1",
  ),
  entry(
    `cn=ops,ou=Groups,${suffix}`,
    "objectClass: posixGroup",
    "cn: ops",
    "gidNumber: 1",
    "memberUid: ann",
    "memberUid: st*r",
  ),
  entry(`cn=all,ou=Groups,${suffix}`, "objectClass: groupOfNames", "cn: all", `member: uid=ann,ou=People,${suffix}`),
  computer("WEB1.test.org"),
  computer("web2"),
  computer("web*"),
].join("");

const searching = {
  "auth.ldap.basedn": suffix,
  "auth.ldap.binddn": `cn=admin,${suffix}`,
  "auth.ldap.bindpw": "admin-1",
  "auth.ldap.filter": "uid={{ username }}",
};
const byName = { "auth.ldap.basedn": suffix, "auth.ldap.binddn": `uid={{ username }},ou=People,${suffix}` };

describe("the eauth system ldap", { skip: skipWithout("slapd", "slapadd", "openssl") }, () => {
  let certificates: Certificates;
  let directory: Service;
  let secure: Service;
  let users: ConfigMap = {};

  before(async () => {
    certificates = makeCertificates(powerless);
    const { server, ca } = certificates;
    const tls = [
      `TLSCertificateFile ${server.cert}`,
      `TLSCertificateKeyFile ${server.key}`,
      `TLSCACertificateFile ${ca}`,
    ];
    const site = { suffix, ldif, rules, settings: [...settings, ...tls] };
    [directory, secure] = await Promise.all([startSlapd(site), startSlapd({ ...site, scheme: "ldaps" })]);
  });
  after(async () => {
    await directory?.close();
    await secure?.close();
    certificates?.remove();
  });

  function check(username: string, password: string, options: Readonly<Record<string, unknown>>) {
    const place = { "auth.ldap.server": "127.0.0.1", "auth.ldap.port": directory.port };
    const opts = new Map<string, unknown>(Object.entries({ ...place, ...options }));
    return checkCredential(
      { externalAuth: { ldap: users }, isPermissive: false, opts },
      { eauth: "ldap", username, password },
    );
  }
  const isKnown = (...words: Parameters<typeof check>) => decided(check(...words));

  it("finds users by the filter, or makes their name from binddn", async () => {
    const anonymous = {
      "auth.ldap.basedn": suffix,
      "auth.ldap.anonymous": true,
      "auth.ldap.filter": "(uid={{username}})",
    };
    for (const options of [searching, byName]) {
      assert.equal(await isKnown("ann", "ann-1", options), true);
      for (const [name, password] of [
        ["ann", "bob-1"],
        ["eve", "ann-1"],
        ["ANN", "ann-1"],
        ["ann ", "ann-1"],
      ] as const)
        assert.equal(await isKnown(name, password, options), false, `${name} ${JSON.stringify(options)}`);
    }
    assert.equal((await check("ann", "ann-1", anonymous)).isAuthentic, false, "anonymous may read no name here");
    assert.equal(await isKnown("twin", "twin-1", searching), false, "two entries");
    const narrow = { ...searching, "auth.ldap.basedn": `ou=Empty,${suffix}`, "auth.ldap.scope": 1 };
    assert.equal(await isKnown("twin", "twin-1", narrow), true);
    assert.equal(await isKnown("twin", "twin-1", { ...narrow, "auth.ldap.scope": 0 }), false);
    assert.equal(await isKnown("ann", "ann-1", { ...narrow, "auth.ldap.basedn": `ou=None,${suffix}` }), false);
  });

  it("takes a user's name as a name, whatever it holds, and no empty password", async () => {
    for (const options of [searching, byName]) {
      assert.equal(await isKnown("st*r", "star-1", options), true);
      assert.equal(await isKnown("odd, name (x)", "odd-1", options), true);
      for (const name of ["*", "a*", "an?", "ann)(uid=*", "*)(|(uid=*", "ann,ou=People", "\\61nn", "ann\0", "", "#ann"])
        assert.equal(await isKnown(name, "ann-1", options), false, name);
      for (const name of ["ann", "", `cn=admin,${suffix}`]) assert.equal(await isKnown(name, "", options), false, name);
    }
  });

  it("knows groups as Salt does in each kind of directory", async () => {
    const groups = async (name: string, password: string, options: Readonly<Record<string, unknown>>) => {
      const result = await check(name, password, { ...searching, ...options });
      assert.deepEqual([result.isAuthentic, result.fault], [true, undefined]);
      return [...result.groups].sort();
    };
    assert.deepEqual(await groups("ann", "ann-1", {}), ["ops"]);
    assert.deepEqual(await groups("ann", "ann-1", { ...byName, "auth.ldap.bindpw": "" }), ["ops"], "asked as the user");
    assert.deepEqual(await groups("st*r", "star-1", {}), ["ops"]);
    assert.deepEqual(await groups("bob", "bob-1", {}), []);
    const own = { "auth.ldap.groupou": "", "auth.ldap.accountattributename": "uid", "auth.ldap.groupclass": "person" };
    assert.deepEqual(await groups("ann", "ann-1", own), ["dev"]);
    assert.deepEqual(await groups("bob", "bob-1", own), [], "a user's own cn is not a group");
    const active = {
      "auth.ldap.activedirectory": true,
      "auth.ldap.accountattributename": "uid",
      "auth.ldap.groupclass": "groupOfNames",
      "auth.ldap.persontype": "inetOrgPerson",
    };
    assert.deepEqual(await groups("ann", "ann-1", active), ["all"]);
    assert.deepEqual(await groups("bob", "bob-1", active), []);
    const ipa = {
      "auth.ldap.freeipa": true,
      "auth.ldap.group_basedn": `ou=Groups,${suffix}`,
      "auth.ldap.group_filter": "(|(memberUid={{ username }})(member=uid={{ username }},ou=People,dc=test,dc=org))",
      "auth.ldap.groupattribute": "member",
    };
    assert.deepEqual(await groups("ann", "ann-1", ipa), ["all", "ops"]);
  });

  it("grants what computers below a place may be asked, without names that are patterns", async () => {
    users = {
      ann: ["test.ping"],
      "ops%": [{ [`ldap(ou=Web,${suffix})`]: ["state.*"] }, { [`ldap(ou=None,${suffix})`]: [".*"] }],
    };
    const options = { ...searching, "auth.ldap.minion_stripdomains": [".test.org"] };
    const { grants } = await check("ann", "ann-1", options);
    assert.deepEqual(decode(grants ?? new Uint8Array()), ["test.ping", new Map([["L@web1,web2", ["state.*"]]])]);
    users = {};
    assert.equal((await check("ann", "ann-1", options)).grants, undefined);
  });

  it("asks under TLS, and believes only certificates of its authorities", async () => {
    const authority = { "auth.ldap.ca_file": certificates.ca };
    const other = { "auth.ldap.ca_file": certificates.otherCa };
    const starttls = { ...searching, "auth.ldap.starttls": true };
    const tls = { ...searching, "auth.ldap.tls": true, "auth.ldap.port": secure.port };
    for (const options of [starttls, tls, { ...searching, "auth.ldap.uri": `ldaps://127.0.0.1:${secure.port}` }]) {
      assert.equal(await isKnown("ann", "ann-1", { ...options, ...authority }), true);
      assert.equal(await isKnown("ann", "wrong", { ...options, ...authority }), false);
      assert.match((await check("ann", "ann-1", { ...options, ...other })).fault ?? "", /certificate/);
      assert.match((await check("ann", "ann-1", options)).fault ?? "", /certificate/);
      assert.equal(await isKnown("ann", "ann-1", { ...options, "auth.ldap.no_verify": true }), true);
    }
    const both = await check("ann", "ann-1", { ...tls, "auth.ldap.starttls": true });
    assert.match(both.fault ?? "", /exclude each other/);
  });

  it("says why it cannot ask, and never with a password", async () => {
    const faults = async (options: Readonly<Record<string, unknown>>) => {
      const { isAuthentic, fault = "" } = await check("ann", "ann-1", options);
      assert.equal(isAuthentic, false);
      assert.doesNotMatch(fault, /ann-1|admin-1|wrong-admin/);
      return fault;
    };
    assert.match(await faults({ ...searching, "auth.ldap.bindpw": "wrong-admin" }), /refuses auth.ldap.binddn/);
    assert.match(await faults({ ...searching, "auth.ldap.filter": "" }), /auth.ldap.filter/);
    assert.match(
      await faults({ ...searching, "auth.ldap.filter": "{% if x %}uid=a{% endif %}" }),
      /only \{\{ username/,
    );
    assert.match(await faults({}), /binddn is needed/);
    const open = { "auth.ldap.anonymous": true, "auth.ldap.auth_by_group_membership_only": true };
    assert.match(await faults({ ...byName, ...open }), /every password/);
    assert.match(await faults({ ...searching, "auth.ldap.port": await freePort() }), /ECONNREFUSED|connect/);
    const cut = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => cut.listen(0, "127.0.0.1", resolve));
    assert.notEqual(await faults({ ...searching, "auth.ldap.port": (cut.address() as { port: number }).port }), "");
    cut.close();
  });
});
