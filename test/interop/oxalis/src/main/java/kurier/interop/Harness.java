package kurier.interop;

import java.net.InetSocketAddress;
import java.util.EnumSet;

import org.apache.cxf.BusFactory;
import org.eclipse.jetty.ee10.servlet.DefaultServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

import com.google.inject.Injector;
import com.google.inject.servlet.GuiceFilter;
import com.google.inject.servlet.GuiceServletContextListener;

import jakarta.servlet.DispatcherType;
import network.oxalis.commons.guice.GuiceModuleLoader;
import network.oxalis.commons.util.OxalisVersion;

/**
 * Oxalis as an access point: its AS4 servlet at /as4, its AS4 sender behind /control/send. Configuration is what Oxalis
 * finds in OXALIS_HOME. Ends when its standard input ends.
 */
public final class Harness
{
  public static void main (final String [] args) throws Exception
  {
    final Injector injector = GuiceModuleLoader.initiate ();
    final Server server = new Server (new InetSocketAddress ("127.0.0.1", 0));
    final ServletContextHandler context = new ServletContextHandler ("/");
    context.addEventListener (new GuiceServletContextListener ()
    {
      @Override
      protected Injector getInjector ()
      {
        return injector;
      }
    });
    context.addFilter (GuiceFilter.class, "/as4/*", EnumSet.of (DispatcherType.REQUEST));
    // Oxalis registers its algorithm suite with the bus of the thread that starts it.
    context.addServlet (new ServletHolder (new Control (injector, BusFactory.getThreadDefaultBus ())), "/control/*");
    context.addServlet (DefaultServlet.class, "/");
    server.setHandler (context);
    server.start ();

    final int port = ((ServerConnector) server.getConnectors ()[0]).getLocalPort ();
    System.out.println ("READY " + port + " " + OxalisVersion.getVersion ());
    System.out.flush ();
    while (System.in.read () >= 0)
    {
      // Until our parent closes the pipe, or dies.
    }
    server.stop ();
    System.exit (0);
  }

  private Harness ()
  {}
}
