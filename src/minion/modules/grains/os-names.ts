/** Salt's short names and families of Linux distributions: grains `os` and `os_family`, observed on Salt 3007. */

/** Short names by the first ten characters of the full name, lower-cased, without blanks and "(GNU/)Linux". */
const shortNames = new Map<string, string>([
  ["redhatente", "RedHat"],
  ["gentoobase", "Gentoo"],
  ["archarm", "Arch ARM"],
  ["arch", "Arch"],
  ["debian", "Debian"],
  ["raspbian", "Raspbian"],
  ["fedoraremi", "Fedora"],
  ["pidora", "Fedora"],
  ["amazonami", "Amazon"],
  ["alt", "ALT"],
  ["enterprise", "OEL"],
  ["oracleserv", "OEL"],
  ["cloudserve", "CloudLinux"],
  ["cloudlinux", "CloudLinux"],
  ["almalinux", "AlmaLinux"],
  ["scientific", "ScientificLinux"],
  ["synology", "Synology"],
  ["nilrt", "NILinuxRT"],
  ["poky", "Poky"],
  ["manjaro", "Manjaro"],
  ["manjarolin", "Manjaro"],
  ["univention", "Univention"],
  ["antergos", "Antergos"],
  ["sles", "SUSE"],
  ["slesexpand", "RES"],
  ["void", "Void"],
  ["linuxmint", "Mint"],
  ["neon", "KDE neon"],
  ["pop", "Pop"],
  ["rocky", "Rocky"],
  ["alibabaclo", "Alinux"],
  ["mendel", "Mendel"],
  ["photon", "VMware Photon OS"],
]);

const families: { readonly [family: string]: readonly string[] } = {
  RedHat: [
    ...[
      "Fedora",
      "CentOS",
      "CentOS Stream",
      "Scientific",
      "ScientificLinux",
      "Amazon",
      "CloudLinux",
      "AlmaLinux",
      "Rocky",
    ],
    ...[
      "OEL",
      "OVS",
      "XCP",
      "XCP-ng",
      "XenServer",
      "RES",
      "Sangoma",
      "VMware Photon OS",
      "Alinux",
      "ALT",
      "AlterOS",
      "RED OS",
    ],
    ...["Chapeau", "Korora", "FedBerry", "GoOSe"],
  ],
  Debian: [
    ...[
      "Ubuntu",
      "Mint",
      "Raspbian",
      "Devuan",
      "Kali",
      "Parrot OS",
      "Univention",
      "Pop",
      "KDE neon",
      "neon",
      "Deepin",
      "antiX",
    ],
    ...["elementary", "elementary OS", "Trisquel", "Linaro", "GCEL", "Cumulus", "IDMS", "TurnKey", "Mendel", "OSMC"],
    ...["AstraLinuxCE", "AstraLinuxSE"],
  ],
  Suse: [
    ...[
      "SUSE",
      "SLES",
      "SLED",
      "SLES_SAP",
      "openSUSE",
      "openSUSE Leap",
      "openSUSE Tumbleweed",
      "alfaLinux",
      "alfaLinux Rise",
    ],
    ...["SUSE Enterprise Server", "SUSE  Enterprise Server"],
  ],
  Arch: ["Arch ARM", "Manjaro", "Manjaro ARM", "Antergos", "EndeavourOS"],
  Gentoo: ["Funtoo"],
  Mandriva: ["Mandrake"],
  Slackware: ["Slamd64"],
  Bluewhite: ["Bluewhite64"],
  VMware: ["VMwareESX"],
};

const familyOfName = new Map(
  Object.entries(families).flatMap(([family, names]) => names.map((name): [string, string] => [name, family])),
);

/** @param id - the ID of os-release, if there is one */
export function osName(fullName: string, id?: string): string {
  if (id === "astra") return fullName.includes("Orel") ? "AstraLinuxCE" : "AstraLinuxSE";
  if (id === "pop") return "Pop";
  const plain = fullName.replace(/\W(?:gnu\/)?linux/gi, "").trim();
  return shortNames.get(plain.replaceAll(" ", "").toLowerCase().slice(0, 10)) ?? plain;
}

/** A distribution that no family lists is its own family. */
export function osFamily(name: string): string {
  return familyOfName.get(name) ?? name;
}
