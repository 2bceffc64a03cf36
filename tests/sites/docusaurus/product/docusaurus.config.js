/** @type {import('@docusaurus/types').Config} */
module.exports = {
  title: 'Product',
  url: 'https://example.com',
  baseUrl: '/product/',
  trailingSlash: false,
  i18n: { defaultLocale: 'en', locales: ['en', 'de'] },
  onBrokenLinks: 'throw',
  presets: [
    [
      'classic',
      {
        docs: {
          versions: { current: { label: 'Next' }, '1.0': { label: '1.0' } },
        },
        blog: {},
      },
    ],
  ],
  plugins: [
    [
      '@docusaurus/plugin-content-docs',
      { id: 'community', path: 'community', routeBasePath: 'community', sidebarPath: undefined },
    ],
  ],
};
