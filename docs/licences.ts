/** Licences of every package that this program runs with, written to `docs/licences.md`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Permissive ones: they ask for no more than that their text is kept. */
const ALLOWED: ReadonlySet<string> = new Set([
  ...['MIT', 'ISC', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', '0BSD', 'Unlicense', 'BlueOak-1.0.0'],
  // Data about browsers, which the bundler of workflows brings along.
  'CC-BY-4.0',
]);

/** Packages that name theirs elsewhere than where it belongs, with where. */
const ELSEWHERE: Readonly<Record<string, { licence: string; where: string }>> = {
  unionfs: { licence: 'Unlicense', where: 'LICENSE' },
};

export interface Licensed {
  name: string;
  version: string;
  licence: string;
}

interface LockedPackage {
  version?: string;
  license?: string;
  dev?: boolean;
}

/**
 * The packages that `npm ci --omit=dev` would install on any platform, by name and version.
 * @throws Error for a package whose licence is not known, not allowed, or another one than its own file says
 */
export function licences(root: string): Licensed[] {
  const lock = JSON.parse(readFileSync(path.join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const found = new Map<string, Licensed>();
  for (const [place, { version = '', license, dev }] of Object.entries(lock.packages)) {
    if (place === '' || dev) continue;
    const name = place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
    const licence = license ?? ELSEWHERE[name]?.licence;
    if (licence === undefined)
      throw new Error(`${name} ${version} names no licence: look, and note it in ELSEWHERE`);
    if (!licence.split(' AND ').every((part) => ALLOWED.has(part)))
      throw new Error(`${name} ${version} has the licence ${licence}, which is not among the allowed ones`);
    checkInstalled(path.join(root, place), name, license);
    found.set(`${name} ${version}`, { name, version, licence });
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, licensed]) => licensed);
}

/** The lockfile is a copy; where the package is here, its own word counts. Other platforms' packages are not. */
function checkInstalled(folder: string, name: string, locked: string | undefined): void {
  const file = path.join(folder, 'package.json');
  if (!existsSync(file)) return;
  const { license } = JSON.parse(readFileSync(file, 'utf8')) as { license?: string };
  if (license !== locked)
    throw new Error(`${name} has the licence ${license}, and the lockfile says ${locked}`);
  const elsewhere = ELSEWHERE[name];
  if (locked === undefined && elsewhere && !existsSync(path.join(folder, elsewhere.where)))
    throw new Error(`${name} has no ${elsewhere.where} any more`);
}

export function licencesPage(all: readonly Licensed[]): string {
  const kinds = [...new Set(all.map(({ licence }) => licence))].sort();
  const sections = kinds.map((kind) => {
    const members = all.filter(({ licence }) => licence === kind);
    const lines = members.map(({ name, version }) => `- ${name} ${version}`);
    return `## ${kind} (${members.length})\n\n${lines.join('\n')}\n`;
  });
  return `# Licences

Every package that is installed by \`npm ci --omit=dev\`, on whichever platform, with the licence it names. Written by
\`npm run licences\`; a test fails when this page is behind, or when a licence comes in that is not permissive.

${sections.join('\n')}`;
}

function main(): void {
  const root = path.join(__dirname, '..', '..');
  writeFileSync(path.join(root, 'docs', 'licences.md'), licencesPage(licences(root)));
}

if (require.main === module) main();
